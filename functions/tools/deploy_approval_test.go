package tools

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/tool"
)

// deployment is one call of deploy_approval over its runs.
type deployment struct {
	t    *testing.T
	args object
	call tool.Call
	now  time.Time
}

func deploy(t *testing.T) *deployment {
	d := &deployment{t: t, now: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}
	d.args = object{"service": "checkout", "version": "1.4.2", "environment": "production"}
	d.call = tool.Call{TaskID: "task", Birth: "birth", Steps: newRecord(), Capabilities: json.RawMessage(`{"elicitation":{}}`), Now: func() time.Time { return d.now }}
	return d
}

func (d *deployment) run() tool.Outcome {
	d.t.Helper()
	return call(d.t, Registry(), "deploy_approval", d.args, d.call)
}

// answer runs the tool to its question, answers, and runs it on.
func (d *deployment) answer(response string) tool.Outcome {
	d.t.Helper()
	o := d.run()
	if o.Kind != tool.Asked || len(o.Questions) != 1 {
		d.t.Fatalf("the run ended %+v", o)
	}
	q := o.Questions[0]
	d.call.Answers = append(d.call.Answers, tool.Answer{Key: q.Key, Method: q.Method, Response: json.RawMessage(response)})
	return d.run()
}

func TestDeployApproval(t *testing.T) {
	t.Run("asks_with_the_plan_and_runs_no_step_before_the_answer", func(t *testing.T) {
		d := deploy(t)
		o := d.run()
		if o.Kind != tool.Asked || o.Questions[0].Method != "elicitation/create" {
			t.Fatalf("the run ended %+v", o)
		}
		for _, part := range []string{"checkout 1.4.2", "production", "5 %", "100 %", `"approve"`, `"in an hour"`} {
			if !strings.Contains(string(o.Questions[0].Params), part) {
				t.Errorf("the question lacks %s: %s", part, o.Questions[0].Params)
			}
		}
		if names := d.call.Steps.Names(); len(names) != 1 || names[0] != "plan" {
			t.Errorf("recorded %v", names)
		}
	})
	t.Run("goes_through_an_approved_plan_step_by_step", func(t *testing.T) {
		d := deploy(t)
		var reports []tool.Progress
		d.call.Report = func(p tool.Progress) { reports = append(reports, p) }
		_, out := finished[deployApprovalOutput](t, d.answer(`{"action":"accept","content":{"approve":true,"note":"go"}}`))
		if out.Outcome != "rehearsed" || out.Note != "go" || !strings.Contains(out.Message, "Nothing outside was changed") {
			t.Errorf("got %+v", out)
		}
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
		if again := d.run(); len(reports) != len(out.Plan.Steps) || again.Kind != tool.Done {
			t.Errorf("another run repeated steps: %d reports", len(reports))
		}
	})
	for name, test := range map[string]struct{ response, outcome, says string }{
		"a_decline_stops_it":          {`{"action":"decline"}`, "declined", "declined to answer"},
		"a_closed_question_stops_it":  {`{"action":"cancel"}`, "dismissed", "closed the question"},
		"a_missing_approval_stops_it": {`{"action":"accept","content":{"approve":false,"note":"not on a Friday"}}`, "rejected", "did not approve"},
	} {
		t.Run(name+"_without_an_error", func(t *testing.T) { // R-U9
			r, out := finished[deployApprovalOutput](t, deploy(t).answer(test.response))
			if r.IsError || out.Outcome != test.outcome || !strings.Contains(out.Message, test.says) || len(out.Receipts) != 0 {
				t.Errorf("got %+v", out)
			}
		})
	}
	t.Run("waits_for_the_chosen_window_while_nothing_runs", func(t *testing.T) {
		d := deploy(t)
		o := d.answer(`{"action":"accept","content":{"approve":true,"window":"in an hour"}}`)
		if o.Kind != tool.Slept || !o.WakeAt.Equal(d.now.Add(time.Hour)) {
			t.Fatalf("the run ended %+v", o)
		}
		d.now = d.now.Add(time.Hour)
		if _, out := finished[deployApprovalOutput](t, d.run()); out.Outcome != "rehearsed" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("an_answer_that_does_not_fit_is_asked_for_again", func(t *testing.T) { // R-U7
		d := deploy(t)
		o := d.answer(`{"action":"accept","content":{"approve":"perhaps"}}`)
		if o.Kind != tool.Asked || !strings.Contains(string(o.Questions[0].Params), "did not fit") {
			t.Errorf("the run ended %+v", o)
		}
	})
	t.Run("a_client_that_can_show_no_form_is_told", func(t *testing.T) { // R-U8
		d := deploy(t)
		d.call.Capabilities = json.RawMessage(`{}`)
		if o := d.run(); o.Kind != tool.Lacks {
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
			d := deploy(t)
			d.args[property] = value
			r, _ := finished[deployApprovalOutput](t, d.run())
			if !r.IsError || !strings.Contains(r.Content[0].Text, property) {
				t.Errorf("got %+v", r)
			}
		})
	}
}
