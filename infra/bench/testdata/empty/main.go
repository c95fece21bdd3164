// Command empty is a Lambda function that does nothing: what every function in
// Go starts with.
package main

import (
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(event json.RawMessage) (json.RawMessage, error) { return event, nil })
}
