// Package local runs a whole deployment in one process, without an AWS account:
// the emulators of DynamoDB and SQS behind real HTTP, an imitation of API
// Gateway on 127.0.0.1, and the deployed functions between them. Each function
// is opened as on Lambda, from an environment, with SDK clients of its own, and
// sees nothing but the event JSON that it is invoked with.
//
//	s, err := local.Start(ctx, local.Options{Registry: tools.Registry(), Port: 8080, Dir: ".toolhost/data"})
//	if err != nil { … }
//	fmt.Println("MCP at", s.URL)
//	return s.Wait() // until ctx has ended and everything is over
//
// It promises that nothing is left of it once Wait has returned: when ctx ends,
// requests and tools are cancelled, what was running is released for the next
// start, and the directory is let go of.
//
// It is not API Gateway: it asks the authorizer as that does, and gives the
// template's answers, but it has no throttling and no timeouts but the functions'
// own, and its stage does not show in the path, as behind a custom domain. TLS, IAM, and a function's freezing between invocations are not
// imitated either; a tool that ignores its context goes on until the process ends.
package local
