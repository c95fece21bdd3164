package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/apigw"
	"toolhost/pkg/auth"
	"toolhost/pkg/config"
	"toolhost/pkg/fault"
	"toolhost/pkg/tool"
)

// who is a tool that says whose call it is.
func who(scopes ...string) *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "who"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("<%+v>", auth.From(ctx).Owner())}}}, nil, nil
	}, tool.Options{Scopes: scopes})
	return reg
}

// asWhom invokes the MCP function as the gateway's event says, and returns the
// HTTP answer.
func asWhom(t *testing.T, c config.Config, of events.APIGatewayProxyRequestContext) events.APIGatewayProxyResponse {
	t.Helper()
	s, err := Open(t.Context(), c, who(), Options{AWS: at("http://127.0.0.1:1")})
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.MCP()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Path: "/mcp", Resource: "/mcp", RequestContext: of,
		Headers: map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25",
			// What a client says of itself is not heard.
			"X-Amzn-Caller": "root", "Authorization": "Bearer x"},
		Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","arguments":{}}}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := f(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	all, err := io.ReadAll(a)
	if err != nil {
		t.Fatal(err)
	}
	var answer events.APIGatewayProxyResponse
	if err := json.Unmarshal(all, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func owner(issuer, subject, tenant, client string) string {
	p := auth.Principal{Issuer: issuer, Subject: subject, Tenant: tenant, Client: client}
	text, _ := json.Marshal(fmt.Sprintf("<%+v>", p.Owner()))
	return strings.Trim(string(text), `"`)
}

func TestCaller(t *testing.T) { // R-V1
	signed := configured()
	signed.Auth = config.AuthIAM
	tokens := configured()
	tokens.Auth, tokens.PublicURL = config.AuthOAuth, "https://tools.example"
	tokens.OAuth = config.OAuth{Issuer: "https://issuer.example", Audience: "https://tools.example/mcp", Scopes: []string{"mcp"}}
	identity := func(account, caller string) events.APIGatewayProxyRequestContext {
		return events.APIGatewayProxyRequestContext{Identity: events.APIGatewayRequestIdentity{AccountID: account, Caller: caller, SourceIP: "203.0.113.7"}}
	}
	authorized := func(members map[string]any) events.APIGatewayProxyRequestContext {
		return events.APIGatewayProxyRequestContext{Authorizer: members}
	}
	for name, c := range map[string]struct {
		config config.Config
		of     events.APIGatewayProxyRequestContext
		want   string // "" is 401
	}{
		"with AWS signatures, a user":                   {signed, identity("111122223333", "AIDAEXAMPLE"), owner("aws", "AIDAEXAMPLE", "111122223333", "")},
		"a role, whatever its session is called":        {signed, identity("111122223333", "AROAEXAMPLE:tuesday"), owner("aws", "AROAEXAMPLE", "111122223333", "")},
		"nobody who signed":                             {signed, identity("", ""), ""},
		"with AWS signatures, a token":                  {signed, authorized(map[string]any{"issuer": "https://issuer.example", "subject": "ada"}), ""},
		"with tokens, a subject":                        {tokens, authorized(map[string]any{"issuer": "https://issuer.example", "subject": "ada", "tenant": "acme", "client": "app"}), owner("https://issuer.example", "ada", "acme", "")},
		"a client without a subject":                    {tokens, authorized(map[string]any{"issuer": "https://issuer.example", "subject": "", "client": "app"}), owner("https://issuer.example", "", "", "app")},
		"a route without its authorizer":                {tokens, authorized(nil), ""},
		"an authorizer's context of another kind":       {tokens, authorized(map[string]any{"principalId": "user"}), ""},
		"one of another issuer":                         {tokens, authorized(map[string]any{"issuer": "https://other.example", "subject": "ada"}), ""},
		"with tokens, an AWS signature":                 {tokens, identity("111122223333", "AIDAEXAMPLE"), ""},
		"with nothing asked for, whoever says anything": {configured(), authorized(map[string]any{"issuer": "https://issuer.example", "subject": "ada"}), owner("", "", "", "")},
	} {
		t.Run(name, func(t *testing.T) {
			answer := asWhom(t, c.config, c.of)
			if c.want == "" {
				if answer.StatusCode != 401 || strings.Contains(answer.Body, "<") || !json.Valid([]byte(answer.Body)) {
					t.Errorf("%d %s", answer.StatusCode, answer.Body)
				}
				return
			}
			if answer.StatusCode != 200 || !strings.Contains(answer.Body, strings.ReplaceAll(strings.ReplaceAll(c.want, "<", `\u003c`), ">", `\u003e`)) && !strings.Contains(answer.Body, c.want) {
				t.Errorf("%d %s, want %s", answer.StatusCode, answer.Body, c.want)
			}
		})
	}

	t.Run("scopes where nobody could hold them", func(t *testing.T) {
		s, err := Open(t.Context(), signed, who("deploy"), Options{AWS: at("http://127.0.0.1:1")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.MCP(); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "who") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an authorizer where there are no tokens", func(t *testing.T) {
		if _, err := opened(t, configured(), "http://127.0.0.1:1").Authorizer(); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an authorizer's policy is for the one request, and its context is text", func(t *testing.T) {
		allow, err := apigw.Authorize(func(context.Context, http.Header) (apigw.Verdict, error) { return apigw.Verdict{}, nil })(t.Context(),
			events.APIGatewayCustomAuthorizerRequestTypeRequest{MethodArn: "arn:x"})
		if s := allow.PolicyDocument.Statement; err != nil || len(s) != 1 || s[0].Effect != "Allow" || len(s[0].Resource) != 1 || s[0].Resource[0] != "arn:x" {
			t.Errorf("%+v, %v", allow, err)
		}
	})
}
