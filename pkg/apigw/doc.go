// Package apigw serves API Gateway REST proxy events (payload 1.0) and Lambda
// function URL events (payload 2.0) with an ordinary http.Handler.
//
//	h := apigw.Streaming(mux, log) // or apigw.Buffered
//	lambda.StartWithOptions(h)
//
// Which of the two a function uses is the template's decision: it sets the
// integration's transfer mode and tells the function through its environment,
// since nothing in the event says so. The handler can tell, too: the writer of
// a streaming answer is an http.Flusher, that of a buffered one is not.
//
// Promises:
//   - A streaming answer always starts with the prelude that API Gateway needs,
//     errors too, and each Write of the handler is readable before the next one.
//   - Nothing runs after the answer has been read to its end or closed. Closing it
//     early ends the request's context and waits for the handler.
//   - A broken event is answered with 400, a panic with 500 and -32603; neither
//     ends the process.
//
// It does not compress, does not sniff content types, and does not know what
// the handler serves, but for the JSON-RPC body of its own errors.
package apigw
