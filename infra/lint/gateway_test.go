package lint

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"toolhost/pkg/apigw"
	"toolhost/pkg/auth"
	"toolhost/pkg/callback"
	"toolhost/pkg/limits"
)

// apis are the texts of the REST APIs, by name.
func apis(t *testing.T) map[string]tree {
	all := map[string]tree{}
	for name, api := range resources(t, "AWS::Serverless::Api") {
		all[name] = api.at("DefinitionBody")
		// SAM deploys an API whose text has changed: who may call is no part of it.
		equal(t, name+" is always deployed", api.at("AlwaysDeploy").v, any(true))
	}
	equal(t, "APIs", len(all), 2)
	return all
}

// Case 17: what SAM makes of it is checked with the built template (infra/check/template).
func TestTemplateStreams(t *testing.T) {
	functions := resources(t, "AWS::Serverless::Function")
	for name, api := range apis(t) {
		for path, methods := range api.at("paths").members() {
			for method, m := range methods.members() {
				what := name + " " + method + " " + path
				i := m.at("x-amazon-apigateway-integration")
				equal(t, what+" transfer mode", i.at("responseTransferMode").text(), "STREAM")
				equal(t, what+" type", i.at("type").text(), "aws_proxy")
				function, _, _ := strings.Cut(strings.SplitAfter(i.at("uri", "!Sub").text(), "/functions/${")[1], ".")
				f := functions[function]
				// Its default is 29 s, whatever the function's is.
				equal(t, what+" lasts as long as its function", i.at("timeoutInMillis").number(), f.at("Timeout").number()*1000)
				equal(t, what+" is told that it streams", f.at("Environment", "Variables", "TOOLHOST_STREAMING").text(), "true")
			}
		}
	}
	equal(t, "the longest stream", functions["McpFunction"].at("Timeout").number(), int(limits.WorkerTimeout.Seconds()))
}

// Who may call: /mcp is guarded but for a page's question, and nothing else is.
func TestTemplateCallers(t *testing.T) { // R-V2, case 3
	open := map[string]bool{callback.Path + "{token}": true, auth.MetadataPath: true, auth.MetadataPath + "/mcp": true}
	for name, api := range apis(t) {
		for path, methods := range api.at("paths").members() {
			for method, m := range methods.members() {
				security := m.at("security", "!If")
				if open[path] || method == "options" {
					equal(t, name+" "+method+" "+path+" is open", m.at("security").v, nil)
					continue
				}
				equal(t, name+" "+path+" with oauth", security.at(0).text()+" "+keys(security.at(1, 0)), "HasOAuth token")
				equal(t, name+" "+path+" with iam", security.at(2, "!If", 0).text()+" "+keys(security.at(2, "!If", 1, 0)), "HasIAM signature")
			}
		}
		equal(t, name+" signature", api.at("securityDefinitions", "signature", "x-amazon-apigateway-authtype").text(), "awsSigv4")
		token := api.at("securityDefinitions", "token", "!If")
		equal(t, name+" authorizer is there", token.at(0).text(), "HasOAuth")
		authorizer := token.at(1, "x-amazon-apigateway-authorizer")
		equal(t, name+" authorizer type", authorizer.at("type").text(), "request")
		equal(t, name+" keeps no answers", authorizer.at("authorizerResultTtlInSeconds").v, any(0))
		equal(t, name+" asks nobody without a token", authorizer.at("identitySource").text(), "method.request.header.Authorization")
	}
	equal(t, "routes", len(apis(t)["Api"].at("paths").members()), 1+len(open))
	for _, name := range []string{"AuthorizerPermission", "TasksAuthorizerPermission"} {
		p := resources(t, "AWS::Lambda::Permission")[name]
		equal(t, name, p.at("FunctionName", "!Ref").text(), "AuthorizerFunction")
		if !strings.HasSuffix(p.at("SourceArn", "!Sub").text(), "/authorizers/*") {
			t.Errorf("%s is for %v", name, p.at("SourceArn").v)
		}
	}
}

// The gateway's own answers have the header that a function's would lose, and are
// JSON-RPC.
func TestTemplateAnswers(t *testing.T) { // R-V2, R-V5, case 3
	for name, api := range apis(t) {
		answers := api.at("x-amazon-apigateway-gateway-responses")
		for kind, status := range map[string]string{"UNAUTHORIZED": "401", "ACCESS_DENIED": "403", "THROTTLED": "429"} {
			equal(t, name+" "+kind, answers.at(kind, "statusCode").text(), status)
		}
		header := answers.at("UNAUTHORIZED", "responseParameters", "gatewayresponse.header.WWW-Authenticate", "!Sub")
		got := strings.NewReplacer("${Base}", "https://tools.example/v1", "${Scope}", strings.ReplaceAll(header.at(1, "Scope", "!If", 1, "!Sub").text(), "${Scopes}", "mcp more")).
			Replace(header.at(0).text())
		r := auth.Resource{Base: "https://tools.example/v1", Scopes: []string{"mcp", "more"}}
		equal(t, name+" challenge", got, "'"+r.Challenge("", "", nil)+"'")
		equal(t, name+" denial", answers.at("ACCESS_DENIED", "responseParameters", "gatewayresponse.header.WWW-Authenticate", "!If", 1).text(),
			"context.authorizer."+apigw.ContextChallenge)
		// A path that is not there; with a token API Gateway has another name for it, and
		// would say the token back.
		for _, kind := range []string{"MISSING_AUTHENTICATION_TOKEN", "INVALID_SIGNATURE"} {
			nothing := answers.at(kind)
			equal(t, name+" "+kind, nothing.at("statusCode", "!If", 0).text()+" "+nothing.at("statusCode", "!If", 2).text(), "HasIAM 404")
			if text := nothing.at("responseTemplates", "application/json", "!If", 2).text(); !strings.Contains(text, "the MCP endpoint is /mcp") { // case 27
				t.Errorf("%s %s: %s", name, kind, text)
			}
		}
		if text := answers.at("REQUEST_TOO_LARGE", "responseTemplates", "application/json").text(); !strings.Contains(text, fmt.Sprint(limits.MaxBody)) { // R-H5
			t.Errorf("%s does not name the limit: %s", name, text)
		}
		if answers.at("DEFAULT_4XX").v == nil || answers.at("DEFAULT_5XX").v == nil {
			t.Errorf("%s leaves answers to API Gateway, whose texts no client of MCP reads", name)
		}
		for kind, answer := range answers.members() {
			equal(t, name+" "+kind+" can be read by a page", answer.at("responseParameters", "gatewayresponse.header.Access-Control-Allow-Origin").text(), "'*'")
			texts := []tree{answer.at("responseTemplates", "application/json")}
			if either := texts[0].at("!If"); either.v != nil {
				texts = []tree{either.at(1), either.at(2)}
			}
			for _, text := range texts {
				var m struct{ Error struct{ Code int } }
				if err := json.Unmarshal([]byte(text.text()), &m); err != nil || m.Error.Code == 0 || strings.Contains(text.text(), "$context.error") {
					t.Errorf("%s %s: %s, %v", name, kind, text.text(), err)
				}
			}
		}
	}
}

// keys are the names of an object's members.
func keys(n tree) (names string) {
	for name := range n.members() {
		names += name
	}
	return names
}
