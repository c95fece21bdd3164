// Package lambda emulates Lambda's event source mapping from an SQS queue to a
// function: it polls the queue through the SDK's own client, invokes the
// function with the JSON that Lambda would hand it, and deletes what the
// function has dealt with.
//
//	mapping := &lambda.Mapping{
//		Queue: client, QueueURL: url,
//		Function: handler.Invoke, Timeout: 15 * time.Minute,
//		MaximumConcurrency: 10, ReportBatchItemFailures: true,
//	}
//	err := mapping.Run(ctx) // until ctx ends
//
// It promises
//
//   - that a message is deleted only after the function succeeded with it; after
//     an error, a panic, a timeout, a throttled invocation or an answer that is
//     no answer, the whole batch stays hidden for the rest of its visibility
//     timeout and then comes back, counted once more;
//   - that no more than MaximumConcurrency invocations run at once, and that a
//     message is received only when one of them is free;
//   - that an idle mapping makes nothing but long polls, one at a time;
//   - that Run returns only after its invocations have ended, or their grace has.
//
// A function is called in this process: one that ignores its timeout is let go
// of, as if its sandbox had been killed, but goes on running. After a failed or
// throttled invocation the mapping goes on at once, where Lambda would slow
// down. Batching windows, and so batches of more than ten messages, filters and
// on-failure destinations are not there.
package lambda
