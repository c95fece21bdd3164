// Package dynamodb is an emulator of DynamoDB: an http.Handler that speaks its
// JSON protocol to the ordinary AWS SDK.
//
// It serves tables with string keys and without indexes, the item operations,
// Query, Scan, the two batches and time to live. What it serves it takes
// seriously: condition, update, key, filter and projection expressions with
// their rules, reserved words included; exact numbers of 38 digits; item and
// key sizes; pages; consumed capacity; atomic conditional writes. Whatever else
// DynamoDB knows (an operation, a member of a request, a function) is refused
// with an error that names it; nothing is silently ignored.
//
// Unlike DynamoDB, a table is there at once, every read is consistent (but is
// billed as asked for), nothing is throttled unless a fault is injected, and
// expired items go only when Expire is called. Requests are not authenticated.
//
//	srv, err := dynamodb.New(dynamodb.Options{Clock: clock.System, Dir: "data"})
//	go http.Serve(listener, srv)
//	client := sdk.New(sdk.Options{BaseEndpoint: aws.String("http://127.0.0.1:8000"), …})
package dynamodb
