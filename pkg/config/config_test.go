package config

import (
	"encoding/base64"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{"TOOLHOST_TABLE": "t", "TOOLHOST_QUEUE_URL": "q", "TOOLHOST_AUTH": "none"}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestLoad(t *testing.T) {
	t.Run("defaults are the project's limits", func(t *testing.T) {
		got, err := Load(env())
		want := Config{Table: "t", QueueURL: "q", Auth: AuthNone, LogLevel: slog.LevelInfo,
			MaxListen: limits.MaxListen, PollRate: limits.PollRate, Limits: Limits{limits.MaxBody, limits.MaxArguments, limits.MaxResult, limits.MaxAnswer}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	})
	t.Run("everything set", func(t *testing.T) {
		got, err := Load(env("TOOLHOST_KEYS_SECRET", "s", "TOOLHOST_STREAMING", "true", "TOOLHOST_ORIGINS", "https://a.example, *", "TOOLHOST_HOSTS", "localhost",
			"TOOLHOST_LOG_LEVEL", "warn", "TOOLHOST_MAX_RESULT", "7", "TOOLHOST_MAX_LISTEN", "5m", "TOOLHOST_MAX_CREATIONS", "60", "TOOLHOST_MAX_OPEN_TASKS", "1000"))
		if err != nil || got.KeysSecret != "s" || !got.Streaming || got.LogLevel != slog.LevelWarn || got.Limits.Result != 7 || got.Quota != (Quota{60, 1000}) || got.MaxListen != 5*time.Minute ||
			!reflect.DeepEqual(got.Origins, []string{"https://a.example", "*"}) || !reflect.DeepEqual(got.Hosts, []string{"localhost"}) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("none is not the default", func(t *testing.T) {
		got, err := Load(env("TOOLHOST_MAX_LISTEN", "0", "TOOLHOST_POLL_RATE", "0"))
		if err != nil || got.MaxListen >= 0 || got.PollRate >= 0 {
			t.Errorf("got %v, %v, %v", got.MaxListen, got.PollRate, err)
		}
	})
	t.Run("oauth", func(t *testing.T) {
		good := []string{"TOOLHOST_AUTH", "oauth", "TOOLHOST_ISSUER", "https://i.example", "TOOLHOST_PUBLIC_URL", "https://t.example/v1", "TOOLHOST_SCOPES", "mcp more"}
		got, err := Load(env(good...))
		if want := (OAuth{Issuer: "https://i.example", Audience: "https://t.example/v1/mcp", Scopes: []string{"mcp", "more"}}); err != nil || !reflect.DeepEqual(got.OAuth, want) {
			t.Errorf("got %+v, %v", got.OAuth, err)
		}
		if got, err = Load(env(append(good, "TOOLHOST_AUDIENCE", "tools")...)); err != nil || got.OAuth.Audience != "tools" {
			t.Errorf("got %+v, %v", got.OAuth, err)
		}
		if _, err := Load(env(append(good, "TOOLHOST_PUBLIC_URL", "http://t.example")...)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "TOOLHOST_PUBLIC_URL is not an https URL") {
			t.Errorf("tokens in clear: %v", err)
		}
		for _, name := range []string{"TOOLHOST_ISSUER", "TOOLHOST_PUBLIC_URL"} {
			if _, err := Load(env(append(good, name, "")...)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), name) {
				t.Errorf("without %s: %v", name, err)
			}
		}
	})
	t.Run("an error names the variable and not its value", func(t *testing.T) {
		for name, value := range map[string]string{
			"TOOLHOST_TABLE": "", "TOOLHOST_QUEUE_URL": "", "TOOLHOST_AUTH": "everyone", "TOOLHOST_STREAMING": "perhaps",
			"TOOLHOST_ORIGINS": "a,,b", "TOOLHOST_LOG_LEVEL": "loud", "TOOLHOST_MAX_LISTEN": "16m", "TOOLHOST_POLL_RATE": "-2", "TOOLHOST_MAX_BODY": "-1", "TOOLHOST_MAX_RESULT": "1e6", "TOOLHOST_MAX_ARGUMENTS": "1048577",
			"TOOLHOST_MAX_CREATIONS": "-3", "TOOLHOST_MAX_OPEN_TASKS": "1001",
			"TOOLHOST_KEYS": "tiny secret", "TOOLHOST_PUBLIC_URL": "toolhost.example",
			"TOOLHOST_ISSUER": "http://i.example", "TOOLHOST_JWKS_URL": "ftp://i.example", "TOOLHOST_SCOPES": "\"quoted\"",
		} {
			_, err := Load(env(name, value))
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && value != "" && strings.Contains(err.Error(), value) {
				t.Errorf("%s: the value is in %v", name, err)
			}
		}
	})
	t.Run("all errors at once", func(t *testing.T) {
		_, err := Load(func(string) string { return "" })
		for _, name := range []string{"TOOLHOST_TABLE", "TOOLHOST_QUEUE_URL", "TOOLHOST_AUTH"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is not in %v", name, err)
			}
		}
	})
	t.Run("the public URL has host and path alone", func(t *testing.T) {
		for value, want := range map[string]string{"https://a.example/v1/": "https://a.example/v1", "http://127.0.0.1:8080": "http://127.0.0.1:8080"} {
			if got, err := Load(env("TOOLHOST_PUBLIC_URL", value)); err != nil || got.PublicURL != want {
				t.Errorf("%s: got %q, %v", value, got.PublicURL, err)
			}
		}
		for _, value := range []string{"ftp://a.example", "https://", "/v1", "https://a.example?q", "https://a.example/#f", "https://u:p@a.example"} {
			if _, err := Load(env("TOOLHOST_PUBLIC_URL", value)); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v", value, err)
			}
		}
	})
	t.Run("keys come from one place", func(t *testing.T) {
		_, err := Load(env("TOOLHOST_KEYS", strings.Repeat("k", 32), "TOOLHOST_KEYS_SECRET", "s"))
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
}

func TestParseKeys(t *testing.T) {
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 40)
	base := func(s string) string { return `"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"` }
	t.Run("a generated string is both keys", func(t *testing.T) {
		got, err := ParseKeys(a + "\n")
		if want := (Keys{[][]byte{[]byte(a)}, []byte(a)}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("an object goes on with that key", func(t *testing.T) {
		got, err := ParseKeys(`{"rotating":[` + base(b) + `,` + base(a) + `],"lasting":` + base(a) + `}`)
		if want := (Keys{[][]byte{[]byte(b), []byte(a)}, []byte(a)}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, %v", got, err)
		}
	})
	for name, bad := range map[string]string{
		"short": "short-secret", "empty": "{}", "no rotating key": `{"rotating":[],"lasting":` + base(a) + `}`, "no strings": `{"rotating":[1]}`,
		"not base64":          `{"rotating":["secret-secret-secret-secret-secret!"],"lasting":` + base(a) + `}`,
		"a short one":         `{"rotating":["c2VjcmV0"],"lasting":` + base(a) + `}`,
		"no lasting key":      `{"rotating":[` + base(a) + `]}`,
		"a short lasting key": `{"rotating":[` + base(a) + `],"lasting":"c2VjcmV0"}`, "broken JSON": `{"rotating":["c2VjcmV0"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKeys(bad)
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "c2Vj") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The table in the documentation is the table in the code.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^//\t(TOOLHOST_\w+) +(.*)$`).FindAllStringSubmatch(string(doc), -1)
	if len(rows) != len(Variables) {
		t.Fatalf("%d rows, %d variables", len(rows), len(Variables))
	}
	for i, v := range Variables {
		if rows[i][1] != v.Name {
			t.Errorf("row %d is %s, want %s", i, rows[i][1], v.Name)
		}
		if first, _, _ := strings.Cut(rows[i][2], " "); v.Required && first != "required" || v.Default != "" && first != v.Default {
			t.Errorf("%s: row says %q, default is %q, required %v", v.Name, first, v.Default, v.Required)
		}
	}
}
