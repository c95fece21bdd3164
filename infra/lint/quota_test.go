package lint

import (
	"testing"

	"toolhost/pkg/limits"
)

// Quotas are off unless they are asked for, and only then may the function that
// makes tasks count and free, and nobody else ever.
func TestTemplateQuota(t *testing.T) {
	parameters := template(t).at("Parameters")
	equal(t, "open tasks by default", parameters.at("MaxOpenTasks", "Default").number(), limits.MaxOpenTasks)
	equal(t, "open tasks at most", parameters.at("MaxOpenTasks", "MaxValue").number(), limits.MostOpenTasks)
	equal(t, "creations by default", parameters.at("MaxCreations", "Default").number(), limits.MaxCreations)
	variables := resources(t, "AWS::Serverless::Function")["McpFunction"].at("Environment", "Variables")
	equal(t, "open tasks", variables.at("TOOLHOST_MAX_OPEN_TASKS", "!Ref").text(), "MaxOpenTasks")
	equal(t, "creations", variables.at("TOOLHOST_MAX_CREATIONS", "!Ref").text(), "MaxCreations")
	for name, r := range resources(t, "AWS::IAM::Role") {
		for _, s := range r.at("Policies", 0, "PolicyDocument", "Statement").list() {
			only := s.at("!If", 0).text() == "HasQuota" && name == "McpRole"
			if given := s.at("!If", 1); given.v != nil {
				s = given
			}
			for _, a := range s.at("Action").list() {
				if a := a.text(); (a == "dynamodb:UpdateItem" || a == "dynamodb:DeleteItem") != only {
					t.Errorf("%s may do %s", name, a)
				}
			}
		}
	}
}
