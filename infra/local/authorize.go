package local

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"toolhost/infra/emulator/lambda"
	"toolhost/pkg/apigw"
)

// authorizer imitates a REST API's authorizer of type REQUEST, without a cache,
// whose identity source is the Authorization header.
type authorizer struct {
	function lambda.Function
	// challenge is what the template's UNAUTHORIZED response has as its header.
	challenge string
}

// admit asks the authorizer about a request, and puts what it says into the event.
// Of a refused one it writes the answer, as the template's gateway responses say it.
func (a *authorizer) admit(ctx context.Context, w http.ResponseWriter, event *events.APIGatewayProxyRequest) bool {
	if event.Headers["Authorization"] == "" { // nobody is asked
		deny(w, http.StatusUnauthorized, a.challenge, "a bearer token is needed, and a valid one")
		return false
	}
	request, err := json.Marshal(events.APIGatewayCustomAuthorizerRequestTypeRequest{
		Type: "REQUEST", MethodArn: "arn:aws:execute-api:" + region + ":" + account + ":local/" + stage + "/" + event.HTTPMethod + event.Resource,
		Resource: event.Resource, Path: event.Path, HTTPMethod: event.HTTPMethod,
		Headers: event.Headers, MultiValueHeaders: event.MultiValueHeaders,
		QueryStringParameters: event.QueryStringParameters, MultiValueQueryStringParameters: event.MultiValueQueryStringParameters,
		PathParameters: event.PathParameters,
		RequestContext: events.APIGatewayCustomAuthorizerRequestTypeRequestContext{
			Path: event.RequestContext.Path, AccountID: account, Stage: stage, RequestID: event.RequestContext.RequestID,
			ResourcePath: event.Resource, HTTPMethod: event.HTTPMethod, APIID: "local",
		},
	})
	if err != nil {
		panic(err) // strings, and maps of them
	}
	raw, err := a.function(ctx, request)
	var answer events.APIGatewayCustomAuthorizerResponse
	switch {
	case err != nil && err.Error() == apigw.ErrUnauthorized.Error():
		deny(w, http.StatusUnauthorized, a.challenge, "a bearer token is needed, and a valid one")
		return false
	case err != nil || json.Unmarshal(raw, &answer) != nil || len(answer.PolicyDocument.Statement) != 1:
		deny(w, http.StatusInternalServerError, "", "internal error")
		return false
	}
	s := answer.PolicyDocument.Statement[0]
	if s.Effect != "Allow" || !slices.Contains(s.Action, "execute-api:Invoke") {
		challenge, _ := answer.Context[apigw.ContextChallenge].(string)
		deny(w, http.StatusForbidden, challenge, "this caller may not make this request")
		return false
	}
	event.RequestContext.Authorizer = map[string]any{"principalId": answer.PrincipalID, "integrationLatency": 1}
	for name, value := range answer.Context {
		if _, isText := value.(string); !isText {
			deny(w, http.StatusInternalServerError, "", "internal error") // API Gateway takes no lists or objects
			return false
		}
		event.RequestContext.Authorizer[name] = value
	}
	return true
}

// deny answers as a gateway response of the template.
func deny(w http.ResponseWriter, status int, challenge, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	w.WriteHeader(status)
	code := -32600
	if status >= http.StatusInternalServerError {
		code = -32603
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": code, "message": message}})
}
