package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"toolhost/pkg/callback"
	"toolhost/pkg/config"
	"toolhost/pkg/limits"
	"toolhost/pkg/store/dynamostore"
)

// value reads YAML with CloudFormation's short tags: !Ref X is map[!Ref: X].
func value(t *testing.T, n *yaml.Node) any {
	t.Helper()
	if n.Kind == yaml.AliasNode {
		return value(t, n.Alias)
	}
	var v any
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = value(t, n.Content[i+1])
		}
		v = m
	case yaml.SequenceNode:
		var list []any
		for _, c := range n.Content {
			list = append(list, value(t, c))
		}
		v = list
	case yaml.ScalarNode:
		v = n.Value
		if !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
			if err := n.Decode(&v); err != nil {
				t.Fatal(err)
			}
		}
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return map[string]any{n.Tag: v}
	}
	return v
}

// tree walks decoded YAML by keys and indexes; nil where there is nothing.
type tree struct{ v any }

func (n tree) at(path ...any) tree {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := n.v.(map[string]any)
			n = tree{m[p]}
		case int:
			list, _ := n.v.([]any)
			if p >= len(list) {
				return tree{}
			}
			n = tree{list[p]}
		}
	}
	return n
}

func (n tree) members() map[string]tree {
	out := map[string]tree{}
	m, _ := n.v.(map[string]any)
	for k, v := range m {
		out[k] = tree{v}
	}
	return out
}

func (n tree) list() []tree {
	list, ok := n.v.([]any)
	if !ok && n.v != nil {
		list = []any{n.v}
	}
	var out []tree
	for _, v := range list {
		out = append(out, tree{v})
	}
	return out
}

func (n tree) text() string { s, _ := n.v.(string); return s }

func (n tree) number() int { i, _ := n.v.(int); return i }

func template(t *testing.T) tree {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return tree{value(t, document.Content[0])}
}

// resources are those of a type, by name; there must be some.
func resources(t *testing.T, kind string) map[string]tree {
	t.Helper()
	out := map[string]tree{}
	for name, r := range template(t).at("Resources").members() {
		if r.at("Type").text() == kind {
			out[name] = r.at("Properties")
		}
	}
	if len(out) == 0 {
		t.Fatalf("no %s in the template", kind)
	}
	return out
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Case 20, and the numbers of pkg/limits.
func TestTemplateQueues(t *testing.T) {
	queues, functions := resources(t, "AWS::SQS::Queue"), resources(t, "AWS::Serverless::Function")
	worker := functions["WorkerFunction"]
	equal(t, "worker timeout", worker.at("Timeout").number(), int(limits.WorkerTimeout.Seconds()))
	equal(t, "queue visibility", queues["Queue"].at("VisibilityTimeout").number(), int(limits.QueueVisibility.Seconds()))
	equal(t, "receives before the dead-letter queue", queues["Queue"].at("RedrivePolicy", "maxReceiveCount").number(), limits.MaxReceives)
	equal(t, "where they go", queues["Queue"].at("RedrivePolicy", "deadLetterTargetArn", "!GetAtt").text(), "DeadLetterQueue.Arn")
	for name, q := range queues {
		equal(t, name+" retention", q.at("MessageRetentionPeriod").number(), 14*24*3600)
	}
	for name, queue := range map[string]string{"WorkerFunction": "Queue", "DeadLetterFunction": "DeadLetterQueue"} {
		f := functions[name]
		if v, timeout := queues[queue].at("VisibilityTimeout").number(), f.at("Timeout").number(); timeout == 0 || v < 6*timeout {
			t.Errorf("%s: a visibility of %d s is under six times the timeout of %s, %d s", queue, v, name, timeout)
		}
		source := f.at("Events", "Messages", "Properties")
		equal(t, name+" reads", source.at("Queue", "!GetAtt").text(), queue+".Arn")
		equal(t, name+" batch size", source.at("BatchSize").number(), 1)
		equal(t, name+" answers", source.at("FunctionResponseTypes", 0).text(), "ReportBatchItemFailures")
		// Case 18: more deliveries than workers would be throttled, and count as receives.
		if source.at("ScalingConfig", "MaximumConcurrency").v == nil {
			t.Errorf("%s has no maximum concurrency", name)
		}
		equal(t, name+" loop detection (case 59)", f.at("RecursiveLoop").text(), "Allow")
	}
}

func TestTemplateTable(t *testing.T) {
	table := resources(t, "AWS::DynamoDB::Table")["Table"]
	schema, ttl := dynamostore.Schema("any")
	equal(t, "time to live", table.at("TimeToLiveSpecification", "AttributeName").text(), *ttl.TimeToLiveSpecification.AttributeName)
	equal(t, "keys", len(table.at("KeySchema").list()), len(schema.KeySchema))
	for i, k := range schema.KeySchema {
		equal(t, "key", table.at("KeySchema", i, "AttributeName").text(), *k.AttributeName)
		equal(t, "key type", table.at("KeySchema", i, "KeyType").text(), string(k.KeyType))
	}
	equal(t, "billing", table.at("BillingMode").text(), string(schema.BillingMode))
	for name, r := range template(t).at("Resources").members() {
		if kind := r.at("Type").text(); kind == "AWS::DynamoDB::Table" || kind == "AWS::SecretsManager::Secret" {
			equal(t, name+" outlives the stack", r.at("DeletionPolicy").text()+r.at("UpdateReplacePolicy").text(), "RetainRetain")
		}
	}
}

// Case 17: what SAM makes of it is checked with the built template (infra/check/template).
func TestTemplateFunctions(t *testing.T) {
	global := template(t).at("Globals", "Function")
	equal(t, "architecture", global.at("Architectures", 0).text(), "arm64")
	equal(t, "runtime", global.at("Runtime").text(), "provided.al2023")
	for name, f := range resources(t, "AWS::Serverless::Function") {
		equal(t, name+" architecture of its own", f.at("Architectures").v, nil)
		if _, err := os.Stat(filepath.Join(root, f.at("CodeUri").text(), "main.go")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		log := f.at("LoggingConfig", "LogGroup", "!Ref").text()
		if resources(t, "AWS::Logs::LogGroup")[log].at("RetentionInDays").v == nil {
			t.Errorf("%s: its log group %q keeps everything for ever", name, log)
		}
	}
	api := template(t).at("Globals", "Api")
	equal(t, "endpoint", api.at("EndpointConfiguration", "Type").text(), "REGIONAL")
	if format := api.at("AccessLogSetting", "!If", 1, "Format").text(); format == "" || strings.Contains(format, "$context.path") {
		t.Errorf("the access log must leave the path out: %q", format)
	}
}

// Callbacks: a tool learns a URL that is routed, made with keys that are accepted there.
func TestTemplateCallbacks(t *testing.T) {
	functions := resources(t, "AWS::Serverless::Function")
	if resources(t, "AWS::Serverless::Api")["Api"].at("DefinitionBody", "paths", callback.Path+"{token}").v == nil {
		t.Error("callbacks have no route")
	}
	worker := functions["WorkerFunction"].at("Environment", "Variables")
	equal(t, "keys", worker.at("TOOLHOST_KEYS_SECRET", "!Ref").text(), functions["McpFunction"].at("Environment", "Variables", "TOOLHOST_KEYS_SECRET", "!Ref").text())
	endpoint := template(t).at("Outputs", "Endpoint", "Value", "!If")
	public := worker.at("TOOLHOST_PUBLIC_URL", "!If")
	equal(t, "public URL", public.at(1, "!Sub").text()+"/mcp", endpoint.at(1, "!Sub").text())
	equal(t, "public URL without a domain", public.at(2, "!If", 2, "!Sub").text()+"/mcp", endpoint.at(2, "!Sub").text())
}

// Each function has a role of its own that names what it may do, and to what.
func TestTemplateRoles(t *testing.T) {
	roles, seen := resources(t, "AWS::IAM::Role"), map[string]string{}
	for name, f := range resources(t, "AWS::Serverless::Function") {
		role, _, _ := strings.Cut(f.at("Role", "!GetAtt").text(), ".")
		if other := seen[role]; other != "" || roles[role].v == nil {
			t.Errorf("%s has the role %q, as %q has", name, role, other)
		}
		seen[role] = name
	}
	for name, r := range roles {
		if r.at("ManagedPolicyArns").v != nil {
			t.Errorf("%s has managed policies", name)
		}
		for _, s := range r.at("Policies", 0, "PolicyDocument", "Statement").list() {
			if given := s.at("!If", 1); given.v != nil {
				s = given
			}
			for _, a := range s.at("Action").list() {
				if a.text() == "" || strings.Contains(a.text(), "*") {
					t.Errorf("%s may do %v", name, a.v)
				}
			}
			for _, to := range s.at("Resource").list() {
				if to.at("!GetAtt").v == nil && to.at("!Ref").v == nil {
					t.Errorf("%s: %v is not a resource of the template's", name, to.v)
				}
			}
		}
	}
}

// The environment that the template sets is the one that pkg/config reads.
func TestTemplateEnvironment(t *testing.T) {
	known := map[string]bool{}
	for _, v := range config.Variables {
		known[v.Name] = v.Required
	}
	global := template(t).at("Globals", "Function", "Environment", "Variables").members()
	for name, f := range resources(t, "AWS::Serverless::Function") {
		set := f.at("Environment", "Variables").members()
		for v := range global {
			set[v] = global[v]
		}
		for v := range set {
			// The AWS SDK's own are there for 'sam local' to set.
			if _, ok := known[v]; !ok && !strings.HasPrefix(v, "AWS_ENDPOINT_URL_") {
				t.Errorf("%s sets %s, which nothing reads", name, v)
			}
		}
		// 'toolhost emulate' prints these, and 'sam local' sets only what is declared.
		for _, v := range []string{"TOOLHOST_TABLE", "TOOLHOST_QUEUE_URL", "TOOLHOST_KEYS", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"} {
			if _, ok := set[v]; !ok {
				t.Errorf("%s does not declare %s, so 'sam local' can't set it", name, v)
			}
		}
		for v, required := range known {
			if _, ok := set[v]; required && !ok {
				t.Errorf("%s does not set %s", name, v)
			}
		}
	}
}

// What the template counts is what the worker says.
func TestTemplateCountsMalformedMessages(t *testing.T) { // case 19
	source, err := os.ReadFile("../../pkg/worker/message.go")
	if err != nil {
		t.Fatal(err)
	}
	filters := resources(t, "AWS::Logs::MetricFilter")
	equal(t, "filters", len(filters), 2)
	for name, f := range filters {
		_, said, _ := strings.Cut(f.at("FilterPattern").text(), `"`)
		if said, _, _ = strings.Cut(said, `"`); said == "" || !strings.Contains(string(source), `"`+said+`"`) {
			t.Errorf("%s counts %q, which the worker never says", name, said)
		}
	}
}
