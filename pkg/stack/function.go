package stack

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"toolhost/pkg/config"
	"toolhost/pkg/tool"
)

// Run is a function's main: it opens the stack that the environment describes,
// and serves the handler that wire returns until Lambda ends the process. With
// SIGTERM, which comes half a second earlier, the contexts of what runs end.
func Run(tools *tool.Registry, wire func(*Stack) (handler any, err error)) {
	handler, err := open(tools, wire)
	if err != nil {
		slog.New(slog.NewJSONHandler(os.Stderr, nil)).Error("the function can't start", "error", err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	lambda.StartWithOptions(handler, lambda.WithContext(ctx), lambda.WithEnableSIGTERM(cancel))
}

func open(tools *tool.Registry, wire func(*Stack) (any, error)) (any, error) {
	c, err := config.Load(os.Getenv)
	if err != nil {
		return nil, err
	}
	s, err := Open(context.Background(), c, tools, Options{Exit: func() { os.Exit(1) }})
	if err != nil {
		return nil, err
	}
	return wire(s)
}
