package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"toolhost/pkg/client"
	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
)

// The exit codes, for scripts.
const (
	exitOK          = 0
	exitToolError   = 1
	exitUsage       = 2
	exitFailed      = 3
	exitCancelled   = 4
	exitUnreachable = 5
	exitUnanswered  = 6
	exitBroken      = 7
	exitInterrupted = 130
)

const description = `Toolhost runs MCP tools as durable tasks, and calls them.

Exit codes:
  0    the tool's result, or done
  1    the tool returned an error
  2    the command line is wrong
  3    the server refused, or the task failed
  4    the task was cancelled
  5    no MCP server answers
  6    the tool asks something and nobody is here to answer; the task waits
  7    other trouble, such as a port that is in use
  130  interrupted; a task goes on`

// errToolFailed is a result with isError: all is said already.
var errToolFailed = errors.New("the tool returned an error")

// errNothingOpen means that there is no question to answer.
var errNothingOpen = errors.New("nothing to answer")

// taskError is an error in a task's life.
type taskError struct {
	id string
	error
	// next are commands for a task that goes on.
	next []string
}

func (e taskError) Unwrap() error { return e.error }

// failure is an error as it is told to scripts.
type failure struct {
	Message string          `json:"message"`
	Exit    int             `json:"exit"`
	Code    int             `json:"code,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	TaskID  string          `json:"taskId,omitempty"`

	next []string
}

// fail says what went wrong, if anything did, and returns the exit code for it.
func (t *terminal) fail(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errToolFailed) {
		return exitToolError
	}
	f := explain(err)
	t.say("toolhost: %s", f.Message)
	if f.next != nil {
		t.say("The task goes on. Next:\n  %s", strings.Join(f.next, "\n  "))
	}
	if t.json {
		fmt.Fprintf(t.out, "%s\n", jsonrpc.Encode(map[string]failure{"error": f}))
	}
	return f.Exit
}

// explain is the one place where an error becomes words and an exit code.
func explain(err error) failure {
	var (
		usage       usageError
		failed      *client.FailedError
		refused     *client.Error
		unreachable *client.UnreachableError
		task        taskError
	)
	f := failure{Message: err.Error(), Exit: exitBroken}
	if errors.As(err, &task) {
		f.TaskID, f.next = task.id, task.next
	}
	if errors.As(err, &refused) {
		f.Code, f.Data = refused.Code, refused.Data
	}
	switch {
	case errors.As(err, &usage):
		f.Exit = exitUsage
	case errors.Is(err, errUnanswered):
		f.Exit = exitUnanswered
	case errors.Is(err, context.Canceled):
		f.Exit, f.Message = exitInterrupted, "interrupted"
	case errors.Is(err, client.ErrCancelled):
		f.Exit = exitCancelled
	case errors.Is(err, client.ErrUnknownTask):
		f.Exit, f.Message = exitFailed, "the server has no such task: the id is wrong, or the task has expired"
	case errors.Is(err, errNothingOpen):
		f.Exit = exitFailed
	case errors.As(err, &failed):
		f.Exit, f.Code, f.Data, f.TaskID = exitFailed, failed.Code, failed.Data, failed.TaskID
		f.Message = fmt.Sprintf("the task failed: %s (%d)", failed.Message, failed.Code)
	case refused != nil:
		f.Exit, f.Message = exitFailed, fmt.Sprintf("the server refused: %s (%d)", refused.Message, refused.Code)
	case errors.As(err, &unreachable):
		f.Exit = exitUnreachable
		f.Message += "\n" + remedy(unreachable)
	case fault.Message(err) != "":
		f.Message = fault.Message(err)
	}
	return f
}

// remedy is what may help against an endpoint that does not answer.
func remedy(e *client.UnreachableError) string {
	if u, err := url.Parse(e.Endpoint); err == nil && strings.Trim(u.Path, "/") == "" && e.Status != 0 {
		return "The endpoint's path is missing: did you mean " + u.JoinPath("mcp").String() + "?"
	}
	if e.Status != 0 {
		return "Something else answers there. Name the endpoint by --url or TOOLHOST_URL."
	}
	return fmt.Sprintf("Start one with '%s dev', or name another by --url or TOOLHOST_URL.", self())
}
