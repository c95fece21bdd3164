package local

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"

	awslambda "github.com/aws/aws-lambda-go/lambda"

	"toolhost/infra/emulator/lambda"
	"toolhost/pkg/auth"
	"toolhost/pkg/callback"
	"toolhost/pkg/config"
	"toolhost/pkg/fault"
	"toolhost/pkg/protocol"
	"toolhost/pkg/stack"
)

// functions are the deployment's, each opened by itself.
type functions struct {
	mcp, tasks         function
	worker, deadLetter lambda.Function
	authorizer         *authorizer // nil: everybody may call
}

// open opens the functions as on Lambda, from an environment. Callbacks arrive
// below the public URL.
func open(ctx context.Context, o Options, s *Services, public string) (functions, error) {
	secret, err := keys(o.Dir)
	if err != nil {
		return functions{}, err
	}
	// What template.yaml sets, and the names of this machine: a web page that
	// makes its own name point here is refused.
	environment := map[string]string{
		"TOOLHOST_TABLE": s.Table, "TOOLHOST_QUEUE_URL": s.QueueURL, "TOOLHOST_KEYS": secret, "TOOLHOST_PUBLIC_URL": public,
		"TOOLHOST_AUTH": string(config.AuthNone), "TOOLHOST_STREAMING": "true", "TOOLHOST_HOSTS": "localhost,127.0.0.1,::1",
	}
	maps.Copy(environment, o.Environment)
	c, err := config.Load(func(name string) string { return environment[name] })
	if err != nil {
		return functions{}, err
	}
	alone := func() (*stack.Stack, error) {
		return stack.Open(ctx, c, o.Registry, stack.Options{AWS: s.AWS(), Clock: o.Clock, Log: o.Log})
	}
	mcp, err1 := alone()
	tasks, err2 := alone()
	worker, err3 := alone()
	deadLetter, err4 := alone()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return functions{}, err
	}
	serveMCP, err1 := mcp.MCP()
	serveTasks, err2 := tasks.Tasks()
	work, err3 := worker.Worker()
	bury, err4 := deadLetter.Worker()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return functions{}, err
	}
	asked, err := askWho(c, alone)
	if err != nil {
		return functions{}, err
	}
	return functions{
		authorizer: asked,
		mcp:        function(serveMCP), tasks: function(serveTasks),
		worker:     invoked(work.Handle),
		deadLetter: invoked(bury.DeadLetter),
	}, nil
}

// invoked is a handler as Lambda invokes it. Each invocation has an aws-lambda-go
// handler of its own: what Invoke returns lies in a buffer that the next one is
// given, and so of several at once one would get another's answer (R-V3).
func invoked(handler any) lambda.Function {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		return awslambda.NewHandler(handler).Invoke(ctx, payload)
	}
}

// askWho opens the authorizer, if the configuration asks for tokens.
func askWho(c config.Config, alone func() (*stack.Stack, error)) (*authorizer, error) {
	switch c.Auth {
	case config.AuthNone:
		return nil, nil
	case config.AuthIAM:
		return nil, fault.New(fault.Invalid, "local.Start", "AWS signatures can be checked only by AWS: TOOLHOST_AUTH=iam needs a deployment")
	}
	s, err := alone()
	if err != nil {
		return nil, err
	}
	judge, err := s.Authorizer()
	if err != nil {
		return nil, err
	}
	r := auth.Resource{Base: c.PublicURL, Scopes: c.OAuth.Scopes}
	return &authorizer{function: invoked(judge), challenge: r.Challenge("", "", nil)}, nil
}

// route is the template's: tasks/* by its header, the rest to functions/mcp.
func (f functions) route(r *http.Request) (function, string, map[string]string) {
	token, isCallback := strings.CutPrefix(r.URL.Path, callback.Path)
	switch {
	case isCallback && token != "" && !strings.Contains(token, "/"):
		return f.mcp, callback.Path + "{token}", map[string]string{"token": token}
	case r.URL.Path == auth.MetadataPath, r.URL.Path == auth.MetadataPath+"/mcp":
		return f.mcp, r.URL.Path, nil
	case r.URL.Path != "/mcp":
		return nil, "", nil
	case strings.HasPrefix(r.Header.Get(protocol.HeaderMethod), "tasks/"):
		return f.tasks, "/mcp", nil
	}
	return f.mcp, "/mcp", nil
}
