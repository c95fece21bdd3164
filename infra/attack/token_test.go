package attack

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"toolhost/pkg/auth"
	"toolhost/pkg/auth/authtest"
	"toolhost/pkg/protocol"
)

// guarded is a target that asks for tokens.
type guarded struct {
	*target
	issuer *authtest.Issuer // the target's own
	forger
}

func guard(t *testing.T, environment map[string]string) *guarded {
	t.Helper()
	issuer := authtest.New(t)
	all := map[string]any{"TOOLHOST_AUTH": "oauth", "TOOLHOST_ISSUER": issuer.URL, "TOOLHOST_SCOPES": "mcp"}
	for k, v := range environment {
		all[k] = v
	}
	complete := map[string]string{}
	for k, v := range all {
		complete[k] = v.(string)
	}
	g := &guarded{target: attackedWith(t, complete), issuer: issuer}
	g.target.issuer = issuer.URL
	key := issuer.Key()
	g.forger = forger{t, key.Key.(*ecdsa.PrivateKey), key.KeyID}
	g.token = g.good(nil)
	return g
}

// claims are a good token's, with some changed, by the target's clock.
func (g *guarded) claims(changes map[string]any) map[string]any {
	now := g.clock.Now().Unix()
	return changed(map[string]any{"iss": g.issuer.URL, "sub": "ada", "aud": g.url, "client_id": "app", "scope": "mcp", "iat": now, "nbf": now, "exp": now + 3600}, changes)
}

func (g *guarded) payload(changes map[string]any) string {
	g.target.t.Helper()
	return string(encoded(g.target.t, g.claims(changes)))
}

// good is a token of these claims that the issuer has signed.
func (g *guarded) good(changes map[string]any) string { return g.of(g.head(nil), g.payload(changes)) }

// try sends a good request with these lines about who calls.
func (g *guarded) try(what string, lines ...string) answer {
	g.target.t.Helper()
	all := g.exchange(what, strings.Join(echoed(g.host, append(lines, "Content-Length: "+itoa(len(echoBody)))...), "\r\n")+"\r\n\r\n"+echoBody, true)
	if len(all) != 1 {
		g.target.t.Errorf("%s: %d answers", what, len(all))
		return answer{}
	}
	return all[0]
}

// TestTokens forges tokens in every way that is known. None is let in, none hurts,
// none is shown or logged, and no key is taken from anybody but the issuer.
func TestTokens(t *testing.T) { // R-V1, R-V2, R-V4, R-V5; cases 3, 27
	var lured atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { lured.Add(1) }))
	defer trap.Close()
	g := guard(t, nil)
	good := g.good(nil)
	if a := g.try("good", "Authorization: Bearer "+good); a.status != 200 {
		t.Fatalf("a good token: %s", a)
	}
	mine := newKey(t)
	thief := forger{t, mine, g.kid}
	payload := g.payload(nil)
	public, err := x509.MarshalPKIXPublicKey(&g.key.PublicKey)
	must(t, err)
	point, err := g.key.PublicKey.Bytes()
	must(t, err)
	own := g.issuer.Key()
	set := encoded(t, own.Public())
	parts := strings.Split(good, ".")
	withHead := func(changes map[string]any) string { return thief.of(thief.head(changes), payload) }
	by := func(head string) string { return g.of(head, payload) } // by the issuer's own key
	stranger, err := json.Marshal(jose.JSONWebKey{Key: &mine.PublicKey, KeyID: g.kid, Algorithm: "ES256", Use: "sig"})
	must(t, err)
	enc, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.ECDH_ES, Key: &g.key.PublicKey, KeyID: g.kid}, (&jose.EncrypterOptions{}).WithContentType("JWT"))
	must(t, err)
	object, err := enc.Encrypt([]byte(good))
	must(t, err)
	jwe, err := object.CompactSerialize()
	must(t, err)
	now := g.clock.Now()

	tokens := map[string]string{
		// Keys and signatures.
		"another key": thief.of(thief.head(nil), payload), "another key, no kid": withHead(map[string]any{"kid": nil}), "an unknown kid": withHead(map[string]any{"kid": "other"}),
		"the issuer's key under another kid": by(g.head(map[string]any{"kid": "other"})), "a kid of another type": by(g.head(map[string]any{"kid": 1})),
		"a kid that is a path": withHead(map[string]any{"kid": "../../../../dev/null"}), "a kid that is a URL": withHead(map[string]any{"kid": trap.URL + "/key"}),
		"a kid that is SQL": withHead(map[string]any{"kid": "' UNION SELECT 'x"}), "a kid of NUL": withHead(map[string]any{"kid": g.kid + "\x00"}), "a long kid": withHead(map[string]any{"kid": strings.Repeat("k", 4000)}),
		"a key's address": withHead(map[string]any{"jku": trap.URL + "/keys"}), "a certificate's address": withHead(map[string]any{"x5u": trap.URL + "/cert"}),
		"a key in the head":         withHead(map[string]any{"jwk": json.RawMessage(stranger)}),
		"a key in the head, no kid": withHead(map[string]any{"jwk": json.RawMessage(stranger), "kid": nil, "jku": trap.URL}),
		"a certificate in the head": withHead(map[string]any{"x5c": []string{"MIIB"}}), "something critical": by(g.head(map[string]any{"crit": []string{"exp"}, "exp": 1})),
		"a payload beside": by(g.head(map[string]any{"b64": false, "crit": []string{"b64"}})),
		"no signature":     parts[0] + "." + parts[1] + ".", "no third part": parts[0] + "." + parts[1], "half a signature": good[:len(good)-43], "a signature of zeros": parts[0] + "." + parts[1] + "." + segment(make([]byte, 64)),
		"a signature in DER": parts[0] + "." + parts[1] + "." + der(t, g.key, parts[0]+"."+parts[1]), "a changed signature": spoil(good), "a signature of another": parts[0] + "." + segment([]byte(g.payload(map[string]any{"sub": "bob"}))) + "." + parts[2],
		"a changed payload": parts[0] + "." + spoil(parts[1]) + "." + parts[2], "padded": good + "=", "in the standard alphabet": strings.NewReplacer("-", "+", "_", "/").Replace(good) + "+", "a fourth part": good + ".x", "a part before": "x." + good,
		"dots": strings.Repeat(".", 2000), "a dot": ".", "two dots": "..", "many parts": strings.Repeat("a.", 3000), "noise": "x", "no base64": "%%%.%%%.%%%", "empty objects": "e30.e30.e30",
		"a JSON serialization": strings.ReplaceAll(string(encoded(t, map[string]string{"protected": parts[0], "payload": parts[1], "signature": parts[2]})), " ", ""),
		"a JWE":                jwe, "a JWT in a JWT": by2(g, good), "in quotes": `"` + good + `"`, "in brackets": "<" + good + ">",

		// Algorithms.
		"alg none": unsigned(g, "none", payload), "alg None": unsigned(g, "None", payload), "alg nOnE": unsigned(g, "nOnE", payload), "alg of nothing": unsigned(g, "", payload), "no alg": by(g.head(map[string]any{"alg": nil})),
		"alg none, signed": by(g.head(map[string]any{"alg": "none"})), "alg es256": by(g.head(map[string]any{"alg": "es256"})), "alg ES384": by(g.head(map[string]any{"alg": "ES384"})), "alg RS256": by(g.head(map[string]any{"alg": "RS256"})),
		"alg ES256K": by(g.head(map[string]any{"alg": "ES256K"})), "alg with a space": by(g.head(map[string]any{"alg": "ES256 "})), "alg as a list": by(g.head(map[string]any{"alg": []string{"ES256"}})), "alg EdDSA": by(g.head(map[string]any{"alg": "EdDSA"})),
		"alg twice":           by(`{"alg":"none","alg":"ES256","kid":"` + g.kid + `"}`),
		"a MAC by the point":  g.mac("HS256", payload, point),
		"a MAC by the DER":    g.mac("HS256", payload, public),
		"a MAC by the PEM":    g.mac("HS256", payload, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		"a MAC by the JWK":    g.mac("HS256", payload, set),
		"a longer MAC":        g.mac("HS384", payload, public),
		"the longest MAC":     g.mac("HS512", payload, public),
		"a MAC by no secret":  g.mac("HS256", payload, nil),
		"a MAC by the kid":    g.mac("HS256", payload, []byte(g.kid)),
		"a MAC called ES256":  g.mac("ES256", payload, public),
		"a head that is none": segment([]byte(`[]`)) + "." + parts[1] + "." + parts[2], "a head that is no JSON": segment([]byte(`{`)) + "." + parts[1] + "." + parts[2],

		// Claims.
		"no claims": g.of(g.head(nil), `{}`), "a payload that is none": g.of(g.head(nil), `[]`), "null": g.of(g.head(nil), `null`), "no JSON": g.of(g.head(nil), `{"iss":`), "deep": g.of(g.head(nil), `{"a":`+strings.Repeat("[", 2500)+strings.Repeat("]", 2500)+`}`),
		"claims twice": g.of(g.head(nil), `{"sub":"eve",`+payload[1:]), "an audience twice": g.of(g.head(nil), `{"aud":"x",`+payload[1:]), "NUL behind": g.of(g.head(nil), payload+"\x00"), "text behind": g.of(g.head(nil), payload+"{}"),
		"claims in another case": g.of(g.head(nil), strings.ToUpper(payload)),
		"huge":                   g.good(map[string]any{"x": strings.Repeat("x", auth.MaxToken)}),
	}
	for claim, values := range map[string][]any{
		"aud": {nil, "", "x", []string{}, []string{"x"}, []any{1}, 1, map[string]any{g.url: 1}, g.url + "/", strings.TrimSuffix(g.url, "/mcp"), g.url[:len(g.url)-1], g.url + "x", strings.ToUpper(g.url), g.url + " ", " " + g.url, g.url + "," + g.url,
			strings.Replace(g.url, "127.0.0.1", "localhost", 1), strings.Replace(g.url, "http:", "https:", 1), g.url + "?x", g.url + "#x", g.issuer.URL, "*"},
		"iss": {nil, "", "x", g.issuer.URL + "/", strings.ToUpper(g.issuer.URL), g.issuer.URL + "/x", g.issuer.URL[:len(g.issuer.URL)-1], " " + g.issuer.URL, strings.Replace(g.issuer.URL, "127.0.0.1", "localhost", 1), []string{g.issuer.URL}, 1, trap.URL},
		"exp": {nil, 0, -1, now.Unix() - 31, "tomorrow", fmt.Sprint(now.Unix() + 3600), []int64{now.Unix() + 3600}, true, json.RawMessage("-1e9"), json.RawMessage("1e-3")},
		"nbf": {now.Unix() + 31, now.Unix() + 3600, "now", []int{1}, json.RawMessage("1e18")},
		"iat": {now.Unix() + 31, now.Unix() + 1e6, "now"},
		"sub": {1, []string{"ada"}, map[string]string{"a": "b"}, true},
	} {
		for i, value := range values {
			tokens[fmt.Sprint(claim, " ", i)] = g.good(map[string]any{claim: value})
		}
	}
	tokens["nobody"] = g.good(map[string]any{"sub": nil, "client_id": nil})
	tokens["nobody at all"] = g.good(map[string]any{"sub": "", "client_id": 1, "azp": []string{"x"}})

	unnamed := string(encoded(t, g.claims(map[string]any{"sub": nil})))
	for i, sub := range []string{`"\ud800"`, `"\udc00\ud800"`, "\"ada\xff\"", "\"\xc0\xaf\""} { // no text: all of them would be one caller
		tokens[fmt.Sprint("sub that is no text ", i)] = g.of(g.head(nil), `{"sub":`+sub+`,`+unnamed[1:])
		tokens[fmt.Sprint("client that is no text ", i)] = g.of(g.head(nil), `{"azp":`+sub+`,`+unnamed[1:])
	}

	fetches := g.issuer.Fetches.Load()
	for what, token := range tokens {
		a := g.try(what, "Authorization: Bearer "+token)
		if a.status != http.StatusUnauthorized || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), `Bearer resource_metadata="http://`) || a.code() != -32600 {
			t.Errorf("%s: %s, %v", what, a, a.header)
		}
		hidden := token[max(0, len(token)-30):]
		if len(token) > 40 && strings.Contains(string(a.body)+fmt.Sprint(a.header)+g.lines.String()+g.text.String(), hidden) {
			t.Errorf("%s: the token is shown or logged", what)
		}
	}
	if n := g.issuer.Fetches.Load() - fetches; n > 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if n := lured.Load(); n != 0 {
		t.Errorf("somebody else's keys were asked for %d times", n)
	}
	if a := g.try("good", "Authorization: Bearer "+good); a.status != 200 {
		t.Errorf("a good token, after all: %s", a)
	}
	t.Logf("%d tokens", len(tokens))
}

// TestTokenPlaces puts a good token where none may be (R-V5).
func TestTokenPlaces(t *testing.T) {
	g := guard(t, nil)
	good := g.good(nil)
	for what, lines := range map[string][]string{
		"nowhere": nil, "an empty header": {"Authorization:"}, "a scheme alone": {"Authorization: Bearer"}, "spaces": {"Authorization: Bearer    "}, "the token alone": {"Authorization: " + good},
		"Basic": {"Authorization: Basic " + good}, "two headers": {"Authorization: Bearer " + good, "Authorization: Bearer " + good}, "a bad one first": {"Authorization: Bearer x", "Authorization: Bearer " + good},
		"a bad one behind": {"Authorization: Bearer " + good, "Authorization: Basic eDp4"}, "two in one": {"Authorization: Bearer " + good + ", Bearer " + good}, "two tokens": {"Authorization: Bearer " + good + " " + good},
		"a parameter": {"Authorization: Bearer token=" + good}, "a tab": {"Authorization: Bearer\t" + good}, "two spaces": {"Authorization: Bearer  " + good}, "quoted": {`Authorization: "Bearer ` + good + `"`},
		"another header": {"X-Authorization: Bearer " + good, "Proxy-Authorization: Bearer " + good, "X-Amz-Security-Token: " + good, "Access-Token: " + good}, "a cookie": {"Cookie: access_token=" + good + "; Authorization=Bearer " + good},
		"DPoP": {"Authorization: DPoP " + good}, "folded": {"Authorization: Bearer " + good[:10] + "\r\n " + good[10:]}, "no ASCII": {"Authorization: Bearer " + good + "\u00a0"}, "no UTF-8": {"Authorization: Bearer \xff" + good},
		"what the authorizer says": {"X-Amzn-Authorizer: {\"subject\":\"ada\"}", "Subject: ada", "Issuer: " + g.issuer.URL, "X-Forwarded-User: ada", "X-Remote-User: ada"},
	} {
		if a := g.try(what, lines...); a.status != http.StatusUnauthorized || !strings.Contains(a.header.Get("WWW-Authenticate"), "resource_metadata=") {
			t.Errorf("%s: %s, %v", what, a, a.header)
		}
	}
	for what, lines := range map[string][]string{
		"NUL": {"Authorization: Bearer " + good + "\x00"}, "a return": {"Authorization: Bearer \r" + good}, "an escape": {"Authorization: Bearer \x1b" + good}, "a space before the colon": {"Authorization : Bearer " + good},
	} {
		if a := g.try(what, lines...); !oneOf(a.status, 400, 401) {
			t.Errorf("%s: %s", what, a)
		}
	}
	if a := g.try("a megabyte", "Authorization: Bearer "+strings.Repeat("a", 2<<20)); a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a megabyte: %s", a)
	}
	// The scheme has no case (RFC 9110), as all know who send it.
	for _, scheme := range []string{"bearer", "BEARER"} {
		if a := g.try(scheme, "Authorization: "+scheme+" "+good); a.status != 200 {
			t.Errorf("%s: %s", scheme, a)
		}
	}
	g.token = ""
	for _, url := range []string{g.url + "?access_token=" + good, g.url + "?Authorization=Bearer%20" + good, g.url + "#access_token=" + good} {
		if a := g.send("in the query", http.MethodPost, url, headers(protocol.Revision20260728, "tools/call", "echo"), echoBody); a.status != 401 {
			t.Errorf("in the query: %s", a)
		}
	}
	h := headers(protocol.Revision20260728, "tools/call", "echo")
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, body := range []string{"access_token=" + good, strings.Replace(echoBody, `"_meta":{`, `"_meta":{"authorization":"Bearer `+good+`",`, 1)} {
		if a := g.send("in the body", http.MethodPost, g.url, h, body); a.status != 401 {
			t.Errorf("in the body: %s", a)
		}
	}
	for _, log := range []string{g.lines.String(), g.text.String()} {
		if strings.Contains(log, good[len(good)-30:]) {
			t.Error("the log holds a token")
		}
	}
}

// TestForgedKeys asks for a thousand keys that there are not: the issuer is asked
// no more often than twice a minute, and good tokens are let in meanwhile.
func TestForgedKeys(t *testing.T) { // R-V2
	g := guard(t, nil)
	thief := forger{t, newKey(t), ""}
	g.alive()
	begun := g.issuer.Fetches.Load()
	forge := func(n int) {
		for i := range n {
			if a := g.try("a forged kid", "Authorization: Bearer "+thief.of(thief.head(map[string]any{"kid": fmt.Sprint("forged ", i)}), g.payload(nil))); a.status != 401 {
				t.Fatalf("%s", a)
			}
		}
		g.alive()
	}
	forge(1000)
	if n := g.issuer.Fetches.Load() - begun; n > 1 {
		t.Errorf("a thousand forged kids made %d fetches", n)
	}
	for range 10 {
		g.clock.Advance(10 * time.Second)
		forge(10)
	}
	if n := g.issuer.Fetches.Load() - begun; n > 5 {
		t.Errorf("in 100 s there were %d fetches", n)
	}
	// While the issuer is down, too; and what it publishes anew is then found.
	g.issuer.Down.Store(true)
	g.clock.Advance(time.Minute)
	forge(50)
	g.issuer.Down.Store(false)
	g.issuer.Rotate(true)
	g.clock.Advance(time.Minute)
	key := g.issuer.Key()
	renewed := forger{t, key.Key.(*ecdsa.PrivateKey), key.KeyID}
	if a := g.try("a new key", "Authorization: Bearer "+renewed.of(renewed.head(nil), g.payload(nil))); a.status != 200 {
		t.Errorf("a new key: %s", a)
	}
	// A key that is withdrawn is good no longer than the others are fresh.
	g.issuer.Rotate(false)
	g.clock.Advance(16 * time.Minute)
	if a := g.try("a withdrawn key", "Authorization: Bearer "+g.good(nil)); a.status != 401 {
		t.Errorf("a withdrawn key: %s", a)
	}
}

func spoil(text string) string {
	last := byte('A')
	if text[len(text)/2] == last {
		last = 'B'
	}
	return text[:len(text)/2] + string(last) + text[len(text)/2+1:]
}

func der(t *testing.T, key *ecdsa.PrivateKey, text string) string {
	t.Helper()
	signature := forger{t, key, ""}.sign(key, text)
	raw := append([]byte{0x30, 68, 2, 32}, signature[:32]...)
	return segment(append(append(raw, 2, 32), signature[32:]...))
}

// unsigned is a token without a signature.
func unsigned(g *guarded, alg, payload string) string {
	return segment([]byte(g.head(map[string]any{"alg": alg}))) + "." + segment([]byte(payload)) + "."
}

// by2 is a token whose payload is a token.
func by2(g *guarded, inner string) string { return g.of(g.head(map[string]any{"cty": "JWT"}), inner) }
