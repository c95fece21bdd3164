package tools

import (
	"strings"
	"testing"
	"time"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

func deploy(t *testing.T, options ...tooltest.Option) *tooltest.Call {
	return tooltest.Start(t, Registry(), "deploy_approval", object{"service": "checkout", "version": "1.4.2", "environment": "production"}, options...)
}

func TestDeployApproval(t *testing.T) {
	t.Run("asks_with_the_plan_and_begins_nothing_before_the_answer", func(t *testing.T) {
		c := deploy(t)
		question := string(c.Asked("approve")[0].Params)
		for _, part := range []string{"checkout 1.4.2", "production", "5 %", "100 %", `"approve"`, `"in an hour"`} {
			if !strings.Contains(question, part) {
				t.Errorf("the question lacks %s: %s", part, question)
			}
		}
		if len(c.Reports()) != 0 {
			t.Errorf("it has begun: %v", c.Reports())
		}
	})
	t.Run("goes_through_an_approved_plan_once_though_the_process_dies_after_each_step", func(t *testing.T) {
		c := deploy(t)
		c.KillAfterEachStep()
		c.Accept("approve", object{"approve": true, "note": "go"})
		out := result[deployApprovalOutput](t, c)
		if out.Outcome != "rehearsed" || out.Note != "go" || !strings.Contains(out.Message, "Nothing outside was changed") {
			t.Errorf("got %+v", out)
		}
		reports := c.Reports()
		if len(out.Receipts) != len(out.Plan.Steps) || len(reports) != len(out.Plan.Steps) {
			t.Fatalf("%d steps, %d receipts, %d reports", len(out.Plan.Steps), len(out.Receipts), len(reports))
		}
		before := out.Plan.Digest
		for i, step := range out.Plan.Steps {
			receipt := out.Receipts[i]
			if receipt.Step != step.Name || receipt.Digest != digest(before, step.Name, step.Does) || reports[i].Message != step.Does {
				t.Errorf("step %d: %+v gave %+v, reported as %+v", i, step, receipt, reports[i])
			}
			before = receipt.Digest
		}
	})
	for name, test := range map[string]struct {
		response      object
		outcome, says string
	}{
		"a_decline_stops_it":          {object{"action": "decline"}, "declined", "declined to answer"},
		"a_closed_question_stops_it":  {object{"action": "cancel"}, "dismissed", "closed the question"},
		"a_missing_approval_stops_it": {object{"action": "accept", "content": object{"approve": false}}, "rejected", "did not approve"},
	} {
		t.Run(name+"_without_an_error", func(t *testing.T) { // R-U9
			c := deploy(t)
			c.Answer("approve", test.response)
			out := result[deployApprovalOutput](t, c)
			if out.Outcome != test.outcome || !strings.Contains(out.Message, test.says) || len(out.Receipts) != 0 {
				t.Errorf("got %+v", out)
			}
		})
	}
	t.Run("waits_for_the_chosen_window_while_nothing_runs", func(t *testing.T) {
		c := deploy(t)
		c.Accept("approve", object{"approve": true, "window": "in an hour"})
		if left := c.Asleep(); left != time.Hour {
			t.Fatalf("it sleeps for %v", left)
		}
		c.Advance(time.Hour)
		if out := result[deployApprovalOutput](t, c); out.Outcome != "rehearsed" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("an_answer_that_does_not_fit_is_asked_for_again", func(t *testing.T) { // R-U7
		c := deploy(t)
		c.Accept("approve", object{"approve": "perhaps"})
		if again := c.Asked("approve~2"); !strings.Contains(string(again[0].Params), "did not fit") {
			t.Errorf("it asks %s", again[0].Params)
		}
	})
	t.Run("a_client_that_can_show_no_form_is_told", func(t *testing.T) { // R-U8
		if o := deploy(t, tooltest.Capabilities(`{}`)).Outcome(); o.Kind != tool.Lacks {
			t.Errorf("the run ended %+v", o)
		}
	})
	t.Run("the_same_input_gives_the_same_plan", func(t *testing.T) {
		in := deployApprovalInput{Service: "a", Version: "1", Environment: "staging"}
		one, two := planDeploy(in), planDeploy(in)
		in.Environment = "development"
		if other := planDeploy(in); one.Digest != two.Digest || one.Digest == other.Digest || len(one.Steps) != 6 || len(other.Steps) != 4 {
			t.Errorf("got %+v, %+v, %+v", one, two, other)
		}
	})
	for property, value := range map[string]string{"service": "Not a Name", "version": "", "environment": "moon"} {
		t.Run(property+"_of_a_wrong_form_is_a_tool_error_that_names_it", func(t *testing.T) { // R-H8
			args := object{"service": "checkout", "version": "1.4.2", "environment": "production"}
			args[property] = value
			if says := tooltest.Start(t, Registry(), "deploy_approval", args).ToolError(); !strings.Contains(says, property) {
				t.Errorf("it says %q", says)
			}
		})
	}
}
