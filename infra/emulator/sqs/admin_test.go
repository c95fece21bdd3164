package sqs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (e *endpoint) attributes(url string, names ...types.QueueAttributeName) (map[string]string, error) {
	out, err := e.client.GetQueueAttributes(e.t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

func (e *endpoint) set(url, name, value string) error {
	_, err := e.client.SetQueueAttributes(e.t.Context(), &awssqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{name: value}})
	return err
}

func TestQueues(t *testing.T) {
	t.Run("a created queue is found by name, listed by prefix and page, and gone when deleted", func(t *testing.T) {
		e := serve(t, Options{Account: "123456789012"})
		for _, name := range []string{"b-1", "a-2", "a-1", "a-3"} {
			if url := e.queue(name, nil); url != e.http.URL+"/123456789012/"+name {
				t.Fatal(url)
			}
		}
		got, err := e.client.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: aws.String("a-2")})
		e.must(err)
		first, err := e.client.ListQueues(t.Context(), &awssqs.ListQueuesInput{QueueNamePrefix: aws.String("a-"), MaxResults: aws.Int32(2)})
		e.must(err)
		second, err := e.client.ListQueues(t.Context(), &awssqs.ListQueuesInput{QueueNamePrefix: aws.String("a-"), MaxResults: aws.Int32(2), NextToken: first.NextToken})
		e.must(err)
		var names []string
		for _, url := range append(first.QueueUrls, second.QueueUrls...) {
			names = append(names, lastSegment(url, "/"))
		}
		if !slices.Equal(names, []string{"a-1", "a-2", "a-3"}) || second.NextToken != nil {
			t.Fatal(names, second.NextToken)
		}
		_, err = e.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: got.QueueUrl})
		e.must(err)
		_, err = e.client.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: aws.String("a-2")})
		refused(t, err, "NonExistentQueue")
	})

	t.Run("a queue is found by the last segment of any URL", func(t *testing.T) {
		e := serve(t, Options{})
		e.queue("jobs", nil)
		e.send("https://sqs.eu-west-1.amazonaws.com/999999999999/jobs", "hello")
		e.one("http://elsewhere/jobs")
	})

	t.Run("creating it again with the same attributes changes nothing, with others is refused", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", map[string]string{"DelaySeconds": "5"})
		if again := e.queue("jobs", map[string]string{"DelaySeconds": "5", "VisibilityTimeout": "30"}); again != url {
			t.Fatal(again)
		}
		_, err := e.client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("jobs"), Attributes: map[string]string{"DelaySeconds": "6"}})
		refused(t, err, "QueueAlreadyExists")
	})

	t.Run("names follow SQS's rules", func(t *testing.T) {
		e := serve(t, Options{})
		for name, code := range map[string]string{
			strings.Repeat("a", 80): "", strings.Repeat("a", 81): "InvalidParameterValue", "a b": "InvalidParameterValue",
			"a.b": "InvalidParameterValue", "": "MissingParameter", "jobs.fifo": "UnsupportedOperation",
		} {
			_, err := e.client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name})
			if code == "" {
				e.must(err)
				continue
			}
			refused(t, err, code)
		}
	})

	t.Run("every operation on a queue that is not there says so", func(t *testing.T) {
		e := serve(t, Options{})
		for _, operation := range []string{
			"DeleteQueue", "PurgeQueue", "GetQueueAttributes", "SetQueueAttributes", "SendMessage", "SendMessageBatch", "ReceiveMessage",
			"DeleteMessage", "DeleteMessageBatch", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch",
		} {
			body := `{"QueueUrl":"http://x/0/gone"`
			if operation == "SetQueueAttributes" {
				body += `,"Attributes":{}`
			}
			if status, shape, _ := e.raw(operation, body+"}"); status != 400 || shape != "com.amazonaws.sqs#QueueDoesNotExist" {
				t.Errorf("%s: %d %s", operation, status, shape)
			}
			if _, shape, _ := e.raw(operation, strings.Replace(body, "http://x/0/gone", "", 1)+"}"); shape != "com.amazon.coral.service#MissingParameterException" {
				t.Errorf("%s without a URL: %s", operation, shape)
			}
			if status, shape, _ := e.raw(operation, strings.Replace(body, "gone", "", 1)+"}"); status != 404 || shape != "com.amazonaws.sqs#InvalidAddress" {
				t.Errorf("%s with no name: %s", operation, shape)
			}
		}
	})

	t.Run("a purge leaves nothing, hidden or not", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "1")
		e.one(url)
		e.send(url, "2")
		_, err := e.client.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: &url})
		e.must(err)
		e.depth("jobs", 0, 0, 0)
	})

	t.Run("a deleted queue ends its long polls, and its handles are not those of its successor", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "1")
		handle := e.one(url).ReceiptHandle
		result := e.poll(t.Context(), url, 20)
		e.waiting()
		_, err := e.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &url})
		e.must(err)
		refused(t, (<-result).err, "NonExistentQueue")
		e.queue("jobs", nil)
		e.depth("jobs", 0, 0, 0)
		_, err = e.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: handle})
		refused(t, err, "ReceiptHandleIsInvalid")
	})
}

func TestQueueAttributes(t *testing.T) {
	t.Run("defaults, counts and times are reported", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		e.send(url, "1")
		e.send(url, "2")
		in := wholly(url)
		in.MaxNumberOfMessages = 1
		_, err := e.client.ReceiveMessage(t.Context(), in)
		e.must(err)
		_, err = e.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("3"), DelaySeconds: 9})
		e.must(err)
		e.clock.Advance(time.Second)
		e.must(e.set(url, "MaximumMessageSize", "2048"))
		got, err := e.attributes(url, "All")
		e.must(err)
		want := map[string]string{
			"QueueArn": "arn:aws:sqs:us-east-1:000000000000:jobs", "CreatedTimestamp": fmt.Sprint(start.Unix()), "LastModifiedTimestamp": fmt.Sprint(start.Unix() + 1),
			"VisibilityTimeout": "30", "DelaySeconds": "0", "MessageRetentionPeriod": "345600", "MaximumMessageSize": "2048", "ReceiveMessageWaitTimeSeconds": "0",
			"ApproximateNumberOfMessages": "1", "ApproximateNumberOfMessagesDelayed": "1", "ApproximateNumberOfMessagesNotVisible": "1",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})

	t.Run("only what was asked for is reported", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		for _, names := range [][]types.QueueAttributeName{nil, {"RedrivePolicy"}, {"DelaySeconds"}} {
			got, err := e.attributes(url, names...)
			e.must(err)
			if len(got) != len(names) && names[0] != "RedrivePolicy" {
				t.Fatal(names, got)
			}
		}
		_, err := e.attributes(url, "Policy")
		refused(t, err, "InvalidAttributeName")
	})

	t.Run("numbers keep to SQS's bounds", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		for name, bound := range map[string][2]int{
			"VisibilityTimeout": {0, 43200}, "DelaySeconds": {0, 900}, "MessageRetentionPeriod": {60, 1209600},
			"MaximumMessageSize": {1024, 1048576}, "ReceiveMessageWaitTimeSeconds": {0, 20},
		} {
			e.must(e.set(url, name, fmt.Sprint(bound[0])))
			e.must(e.set(url, name, fmt.Sprint(bound[1])))
			for _, bad := range []string{fmt.Sprint(bound[0] - 1), fmt.Sprint(bound[1] + 1), "", "many"} {
				refused(t, e.set(url, name, bad), "InvalidAttributeValue")
			}
		}
	})

	t.Run("attributes that the emulator does not have are refused by name", func(t *testing.T) {
		e := serve(t, Options{})
		url := e.queue("jobs", nil)
		for _, name := range []string{
			"Policy", "FifoQueue", "ContentBasedDeduplication", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "DeduplicationScope",
			"FifoThroughputLimit", "SqsManagedSseEnabled", "QueueArn", "Nonsense",
		} {
			err := e.set(url, name, "1")
			refused(t, err, "InvalidAttributeName")
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%v does not name %s", err, name)
			}
			_, err = e.client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("other"), Attributes: map[string]string{name: "1"}})
			refused(t, err, "InvalidAttributeName")
		}
	})

	t.Run("a redrive policy needs a count, and a dead-letter queue that exists and allows it", func(t *testing.T) {
		e := serve(t, Options{})
		url, dead := e.queue("jobs", nil), e.queue("dead", nil)
		const arn = "arn:aws:sqs:us-east-1:000000000000:"
		policy := func(target, count string) string {
			return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%s}`, target, count)
		}
		for _, bad := range []string{
			policy(arn+"gone", "3"), policy("arn:aws:sqs:eu-west-1:000000000000:dead", "3"), policy(arn+"dead", "0"), policy(arn+"dead", "1001"),
			policy(arn+"dead", `"x"`), `{}`, `{`, `{"deadLetterTargetArn":"` + arn + `dead","maxReceiveCount":3,"more":1}`,
		} {
			refused(t, e.set(url, "RedrivePolicy", bad), "InvalidParameterValue")
		}
		e.must(e.set(url, "RedrivePolicy", policy(arn+"dead", `"3"`)))
		if got, err := e.attributes(url, "RedrivePolicy"); err != nil || got["RedrivePolicy"] != policy(arn+"dead", "3") {
			t.Fatal(got, err)
		}
		e.must(e.set(url, "RedrivePolicy", ""))
		if got, err := e.attributes(url, "RedrivePolicy"); err != nil || len(got) != 0 {
			t.Fatal(got, err)
		}
		for allow, code := range map[string]string{
			`{"redrivePermission":"denyAll"}`:                                        "InvalidParameterValue",
			`{"redrivePermission":"byQueue","sourceQueueArns":["` + arn + `other"]}`: "InvalidParameterValue",
			`{"redrivePermission":"byQueue","sourceQueueArns":["` + arn + `jobs"]}`:  "",
			`{"redrivePermission":"allowAll"}`:                                       "",
		} {
			e.must(e.set(dead, "RedriveAllowPolicy", allow))
			err := e.set(url, "RedrivePolicy", policy(arn+"dead", "3"))
			if code == "" {
				e.must(err)
			} else {
				refused(t, err, code)
			}
		}
		for _, bad := range []string{
			`{"redrivePermission":"byQueue"}`, `{"redrivePermission":"allowAll","sourceQueueArns":["a"]}`, `{"redrivePermission":"x"}`, `no`,
			`{"redrivePermission":"byQueue","sourceQueueArns":["1","2","3","4","5","6","7","8","9","10","11"]}`,
		} {
			refused(t, e.set(dead, "RedriveAllowPolicy", bad), "InvalidParameterValue")
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Run("every operation of SQS that is left out is refused by name", func(t *testing.T) {
		e := serve(t, Options{})
		url, ctx := e.queue("jobs", nil), t.Context()
		arn, handle := aws.String("arn:aws:sqs:us-east-1:000000000000:jobs"), aws.String("x")
		for name, call := range map[string]func() error{
			"AddPermission": func() error {
				_, err := e.client.AddPermission(ctx, &awssqs.AddPermissionInput{QueueUrl: &url, Label: handle, AWSAccountIds: []string{"1"}, Actions: []string{"*"}})
				return err
			},
			"RemovePermission": func() error {
				_, err := e.client.RemovePermission(ctx, &awssqs.RemovePermissionInput{QueueUrl: &url, Label: handle})
				return err
			},
			"StartMessageMoveTask": func() error {
				_, err := e.client.StartMessageMoveTask(ctx, &awssqs.StartMessageMoveTaskInput{SourceArn: arn})
				return err
			},
			"CancelMessageMoveTask": func() error {
				_, err := e.client.CancelMessageMoveTask(ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: handle})
				return err
			},
			"ListMessageMoveTasks": func() error {
				_, err := e.client.ListMessageMoveTasks(ctx, &awssqs.ListMessageMoveTasksInput{SourceArn: arn})
				return err
			},
			"ListDeadLetterSourceQueues": func() error {
				_, err := e.client.ListDeadLetterSourceQueues(ctx, &awssqs.ListDeadLetterSourceQueuesInput{QueueUrl: &url})
				return err
			},
			"TagQueue": func() error {
				_, err := e.client.TagQueue(ctx, &awssqs.TagQueueInput{QueueUrl: &url, Tags: map[string]string{"a": "b"}})
				return err
			},
			"UntagQueue": func() error {
				_, err := e.client.UntagQueue(ctx, &awssqs.UntagQueueInput{QueueUrl: &url, TagKeys: []string{"a"}})
				return err
			},
			"ListQueueTags": func() error {
				_, err := e.client.ListQueueTags(ctx, &awssqs.ListQueueTagsInput{QueueUrl: &url})
				return err
			},
		} {
			err := call()
			refused(t, err, "UnsupportedOperation")
			if !strings.Contains(err.Error(), name+".") {
				t.Errorf("%v does not name %s", err, name)
			}
		}
	})

	t.Run("members that are left out are refused by name", func(t *testing.T) {
		e := serve(t, Options{})
		e.queue("jobs", nil)
		for operation, body := range map[string]string{
			"SendMessage":    `{"QueueUrl":"/jobs","MessageBody":"x","MessageDeduplicationId":"x"}`,
			"ReceiveMessage": `{"QueueUrl":"/jobs","ReceiveRequestAttemptId":"x"}`,
			"CreateQueue":    `{"QueueName":"x","tags":{"a":"b"}}`,
			"GetQueueUrl":    `{"QueueName":"jobs","QueueOwnerAWSAccountId":"1"}`,
		} {
			_, shape, message := e.raw(operation, body)
			if shape != "com.amazonaws.sqs#UnsupportedOperation" || !strings.Contains(message, `"`) {
				t.Errorf("%s: %s %s", operation, shape, message)
			}
		}
	})

	t.Run("what is not a request is refused", func(t *testing.T) {
		e := serve(t, Options{})
		for _, row := range []struct{ operation, body, shape string }{
			{"Nonsense", "{}", "UnknownOperationException"},
			{"ListQueues", "", "SerializationException"},
			{"ListQueues", "{", "SerializationException"},
			{"ListQueues", "{} {}", "SerializationException"},
			{"ListQueues", `{"MaxResults":"x"}`, "SerializationException"},
			{"ListQueues", `{"MaxResults":0}`, "InvalidParameterValueException"},
			{"ListQueues", `{"NextToken":"!"}`, "InvalidParameterValueException"},
			{"SetQueueAttributes", `{"QueueUrl":"/x"}`, "MissingParameterException"},
			{"SendMessage", strings.Repeat(" ", maxRequest+1), "SerializationException"},
		} {
			if _, shape, _ := e.raw(row.operation, row.body); lastSegment(shape, "#") != row.shape {
				t.Errorf("%s %.20s: %s, want %s", row.operation, row.body, shape, row.shape)
			}
		}
		response, err := e.http.Client().Get(e.http.URL)
		e.must(err)
		defer response.Body.Close()
		if response.StatusCode != 400 || response.Header.Get("X-Amzn-Query-Error") != "InvalidAction;Sender" {
			t.Fatal(response.Status, response.Header)
		}
	})
}
