package apigw

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

// ErrUnauthorized is the error by whose words API Gateway knows that an
// authorizer has refused the caller: it answers with its UNAUTHORIZED response.
// Any other is the authorizer's own failure.
var ErrUnauthorized = errors.New("Unauthorized")

// Verdict is what an authorizer says of a request.
type Verdict struct {
	// Context is handed to the function behind, as Authorizer; values are strings.
	Context map[string]any
	// Denied is the WWW-Authenticate header for a caller that is known and may not
	// make the request; "" if it may.
	Denied string
}

// Judge says who makes a request, by its headers: the body is not shown to
// authorizers. It returns ErrUnauthorized for nobody.
type Judge func(ctx context.Context, header http.Header) (Verdict, error)

// ContextChallenge is the member of a denial's context that holds Verdict.Denied:
// the gateway's ACCESS_DENIED response takes its header from there.
const ContextChallenge = "challenge"

// Authorize makes an authorizer of type REQUEST out of a judge. A policy names the
// one request that was asked about, so that it means no other even if it is kept.
func Authorize(judge Judge) func(context.Context, events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
	return func(ctx context.Context, r events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
		e := event{Headers: r.Headers, MultiValueHeaders: r.MultiValueHeaders}
		verdict, err := judge(ctx, e.header())
		if err != nil {
			return events.APIGatewayCustomAuthorizerResponse{}, err
		}
		effect, shown := "Allow", verdict.Context
		if verdict.Denied != "" {
			effect, shown = "Deny", map[string]any{ContextChallenge: verdict.Denied}
		}
		return events.APIGatewayCustomAuthorizerResponse{
			PrincipalID: "caller", // who it is, stands in the context
			PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{Version: "2012-10-17", Statement: []events.IAMPolicyStatement{
				{Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{r.MethodArn}},
			}},
			Context: shown,
		}, nil
	}
}
