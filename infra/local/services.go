package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"toolhost/infra/emulator"
	"toolhost/infra/emulator/dynamodb"
	"toolhost/infra/emulator/sqs"
	"toolhost/pkg/clock"
	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/store/dynamostore"
)

const (
	account = "000000000000"
	region  = "us-east-1"
	// name is the table's and the queue's, deadLetters the other queue's.
	name        = "toolhost"
	deadLetters = "toolhost-dead-letters"
	// The template's numbers that are not in pkg/limits.
	retention            = 14 * 24 * time.Hour
	deadLetterVisibility = 6 * deadLetterTimeout
	deadLetterTimeout    = time.Minute
)

// ServiceOptions say how the emulators behave.
type ServiceOptions struct {
	// Host is the address that the emulators' common endpoint is bound to; "" is
	// 127.0.0.1. Anybody who reaches it may use them.
	Host string
	// Port is the endpoint's; 0 is any that is free.
	Port int
	// Dir keeps table and queues; "" keeps them in memory.
	Dir    string
	Clock  clock.Clock
	Faults *emulator.Faults
}

// Services are the emulators, with the table and the queues of a deployment.
type Services struct {
	// Endpoint is the URL of both, for AWS_ENDPOINT_URL.
	Endpoint string
	// Table, Queue and DeadLetterQueue are names; the URLs are the queues'.
	Table, Queue, DeadLetterQueue string
	QueueURL, DeadLetterURL       string
	// DynamoDB and SQS are the emulators themselves, to meter and inspect them.
	DynamoDB *dynamodb.Server
	SQS      *sqs.Server
	// Faults breaks calls to them, and counts them.
	Faults *emulator.Faults

	http *http.Server
}

// Emulate starts the emulators alone. They run until Close.
func Emulate(ctx context.Context, o ServiceOptions) (*Services, error) {
	if o.Faults == nil {
		o.Faults = &emulator.Faults{}
	}
	s := &Services{Table: name, Queue: name, DeadLetterQueue: deadLetters, Faults: o.Faults}
	var err error
	if s.DynamoDB, err = dynamodb.New(dynamodb.Options{Clock: o.Clock, Faults: o.Faults, Dir: o.Dir}); err != nil {
		return nil, err
	}
	if s.SQS, err = sqs.New(sqs.Options{Clock: o.Clock, Faults: o.Faults, Dir: o.Dir, Account: account, Region: region}); err != nil {
		return nil, errors.Join(err, s.DynamoDB.Close())
	}
	listener, err := listen(ctx, o.Host, o.Port)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Endpoint = "http://" + listener.Addr().String()
	s.http = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.") {
			s.SQS.ServeHTTP(w, r)
		} else {
			s.DynamoDB.ServeHTTP(w, r)
		}
	})}
	go s.http.Serve(listener) // ends with Close
	if err := s.deploy(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends the emulators and lets go of the directory.
func (s *Services) Close() error {
	err := s.SQS.Close() // ends long polls
	if s.http != nil {
		err = errors.Join(err, s.http.Close())
	}
	return errors.Join(err, s.DynamoDB.Close())
}

// AWS is how an SDK client reaches the emulators.
func (s *Services) AWS() *aws.Config {
	return &aws.Config{
		Region: region, BaseEndpoint: &s.Endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

// deploy makes what template.yaml makes, unless it is there.
func (s *Services) deploy(ctx context.Context) error {
	const op = "local.Emulate"
	db, mq := awsdynamodb.NewFromConfig(*s.AWS()), awssqs.NewFromConfig(*s.AWS())
	table, ttl := dynamostore.Schema(s.Table)
	var exists *types.ResourceInUseException
	if _, err := db.CreateTable(ctx, table); err == nil {
		if _, err := db.UpdateTimeToLive(ctx, ttl); err != nil {
			return fault.Wrap(fault.Internal, op, err)
		}
	} else if !errors.As(err, &exists) {
		return fault.Wrap(fault.Internal, op, err)
	}

	dead, err := mq.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &s.DeadLetterQueue, Attributes: map[string]string{
		"VisibilityTimeout": seconds(deadLetterVisibility), "MessageRetentionPeriod": seconds(retention)}})
	if err != nil {
		return fault.Wrap(fault.Internal, op, err)
	}
	redrive, _ := json.Marshal(map[string]string{ // strings can't fail
		"deadLetterTargetArn": "arn:aws:sqs:" + region + ":" + account + ":" + s.DeadLetterQueue,
		"maxReceiveCount":     strconv.Itoa(limits.MaxReceives)})
	live, err := mq.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &s.Queue, Attributes: map[string]string{
		"VisibilityTimeout": seconds(limits.QueueVisibility), "MessageRetentionPeriod": seconds(retention), "RedrivePolicy": string(redrive)}})
	if err != nil {
		return fault.Wrap(fault.Internal, op, err)
	}
	s.QueueURL, s.DeadLetterURL = *live.QueueUrl, *dead.QueueUrl
	return nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// listen opens a port; without a host, of this machine alone.
func listen(ctx context.Context, host string, port int) (net.Listener, error) {
	var l net.ListenConfig
	listener, err := l.Listen(ctx, "tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), strconv.Itoa(port)))
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "local.Start", Err: err,
			Message: "port " + strconv.Itoa(port) + " can't be used; is another program on it? Choose another: PORT=" + strconv.Itoa(port+1)}
	}
	return listener, nil
}
