package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"toolhost/infra/local"
)

// emulateCmd runs the emulators alone.
type emulateCmd struct {
	Port int    `help:"Port of the endpoint, for DynamoDB and SQS both; 0 takes any that is free. Default ${default}." env:"PORT" default:"8089" placeholder:"PORT"`
	Host string `help:"Address to bind to. Containers on Linux need one that they can reach, such as 172.17.0.1. Default ${default}." default:"127.0.0.1" placeholder:"ADDRESS"`
	As   string `help:"Name by which the functions' containers reach this machine. Default ${default}." default:"host.docker.internal" placeholder:"NAME"`
	Data string `help:"Directory that keeps table and queues for the next start; without one they are in memory." placeholder:"DIR"`
}

// Validate is called by the command line's parser.
func (cmd *emulateCmd) Validate() error { return checkPort(cmd.Port) }

// Help is shown by --help.
func (*emulateCmd) Help() string {
	return `The environment of the functions goes to standard output, as 'sam local' wants it:

  toolhost emulate > env.json
  sam local start-api --env-vars env.json

Table and queues are there when it is printed.`
}

func (cmd *emulateCmd) Run(ctx context.Context, t *terminal) error {
	services, err := local.Emulate(ctx, local.ServiceOptions{Host: cmd.Host, Port: cmd.Port, Dir: cmd.Data})
	if err != nil {
		return err
	}
	environment, err := cmd.environment(services)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s\n", environment)
	t.say("DynamoDB and SQS at %s, with the table %s and the queues %s and %s. Any credentials will do. Ctrl-C stops.",
		services.Endpoint, services.Table, services.Queue, services.DeadLetterQueue)
	if address, err := netip.ParseAddr(cmd.Host); cmd.Host != "localhost" && (err != nil || !address.IsLoopback()) {
		t.say("Warning: whoever reaches %s can read and change everything: there is no authentication.", cmd.Host)
	}
	<-ctx.Done()
	return services.Close()
}

// environment is the file for --env-vars: variables for all functions.
func (cmd *emulateCmd) environment(s *local.Services) ([]byte, error) {
	endpoint, err := url.Parse(s.Endpoint)
	if err != nil {
		return nil, err
	}
	seen := "http://" + net.JoinHostPort(cmd.As, endpoint.Port())
	return json.MarshalIndent(map[string]any{"Parameters": map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": seen,
		"AWS_ENDPOINT_URL_SQS":      seen,
		"TOOLHOST_TABLE":            s.Table,
		"TOOLHOST_QUEUE_URL":        strings.Replace(s.QueueURL, s.Endpoint, seen, 1),
		"TOOLHOST_KEYS":             rand.Text() + rand.Text(),
		"TOOLHOST_KEYS_SECRET":      "",
		"TOOLHOST_AUTH":             "none",
	}}, "", "  ")
}
