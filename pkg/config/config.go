package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolhost/pkg/auth"
	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// Config is what a function is told. The package's documentation describes each
// variable.
type Config struct {
	Table      string
	QueueURL   string
	KeysSecret string
	// Keys are set if TOOLHOST_KEYS is.
	Keys Keys
	// PublicURL has no slash at its end; "" if there is none.
	PublicURL string
	Auth      Auth
	OAuth     OAuth
	Streaming bool
	Origins   []string
	Hosts     []string
	LogLevel  slog.Level
	// MaxListen is how long a client listens at once; negative: not at all.
	MaxListen time.Duration
	// PollRate is how often a second a caller may read one task; negative: no limit.
	PollRate int
	Limits   Limits
	Quota    Quota
}

// Auth says who may call.
type Auth string

const (
	// AuthNone lets everybody call; all callers are one anonymous caller.
	AuthNone Auth = "none"
	// AuthOAuth asks for a bearer token.
	AuthOAuth Auth = "oauth"
	// AuthIAM leaves it to API Gateway and IAM.
	AuthIAM Auth = "iam"
)

// OAuth says which tokens are good; for AuthOAuth alone.
type OAuth struct {
	Issuer  string
	KeysURL string // "" is found by the issuer's metadata
	// Audience is PublicURL with /mcp unless something else is said.
	Audience    string
	Scopes      []string // asked of every request
	TenantClaim string
}

// Limits are the sizes in bytes that an operator may lower.
type Limits struct{ Body, Arguments, Result, Answer int }

// Quota is what one caller may make; 0: any number. Without authentication all
// callers are one.
type Quota struct {
	Creations int // tasks in a minute
	OpenTasks int // that are not terminal
}

// Variable is one variable of the environment.
type Variable struct {
	Name string
	// Default is what an empty variable means; "" if it may be empty.
	Default  string
	Required bool
	set      func(*Config, string) error
}

// Variables lists all that Load reads, in the order of the documentation.
var Variables = []Variable{
	{"TOOLHOST_TABLE", "", true, text(func(c *Config) *string { return &c.Table })},
	{"TOOLHOST_QUEUE_URL", "", true, text(func(c *Config) *string { return &c.QueueURL })},
	{"TOOLHOST_KEYS_SECRET", "", false, text(func(c *Config) *string { return &c.KeysSecret })},
	{"TOOLHOST_KEYS", "", false, setKeys},
	{"TOOLHOST_PUBLIC_URL", "", false, setPublicURL},
	{"TOOLHOST_AUTH", "", true, setAuth},
	{"TOOLHOST_ISSUER", "", false, secureURL(func(c *Config) *string { return &c.OAuth.Issuer })},
	{"TOOLHOST_JWKS_URL", "", false, secureURL(func(c *Config) *string { return &c.OAuth.KeysURL })},
	{"TOOLHOST_AUDIENCE", "", false, text(func(c *Config) *string { return &c.OAuth.Audience })},
	{"TOOLHOST_SCOPES", "", false, setScopes},
	{"TOOLHOST_TENANT_CLAIM", "", false, text(func(c *Config) *string { return &c.OAuth.TenantClaim })},
	{"TOOLHOST_STREAMING", "false", false, setStreaming},
	{"TOOLHOST_ORIGINS", "", false, list(func(c *Config) *[]string { return &c.Origins })},
	{"TOOLHOST_HOSTS", "", false, list(func(c *Config) *[]string { return &c.Hosts })},
	{"TOOLHOST_LOG_LEVEL", "info", false, setLogLevel},
	{"TOOLHOST_MAX_LISTEN", limits.MaxListen.String(), false, setMaxListen},
	{"TOOLHOST_POLL_RATE", strconv.Itoa(limits.PollRate), false, setPollRate},
	{"TOOLHOST_MAX_BODY", strconv.Itoa(limits.MaxBody), false, size(limits.MaxBody, func(c *Config) *int { return &c.Limits.Body })},
	{"TOOLHOST_MAX_ARGUMENTS", strconv.Itoa(limits.MaxArguments), false, size(limits.MaxArguments, func(c *Config) *int { return &c.Limits.Arguments })},
	{"TOOLHOST_MAX_RESULT", strconv.Itoa(limits.MaxResult), false, size(limits.MaxResult, func(c *Config) *int { return &c.Limits.Result })},
	{"TOOLHOST_MAX_ANSWER", strconv.Itoa(limits.MaxAnswer), false, size(limits.MaxAnswer, func(c *Config) *int { return &c.Limits.Answer })},
	{"TOOLHOST_MAX_CREATIONS", strconv.Itoa(limits.MaxCreations), false, setMaxCreations},
	{"TOOLHOST_MAX_OPEN_TASKS", strconv.Itoa(limits.MaxOpenTasks), false, setMaxOpenTasks},
}

// Load reads the environment through getenv (os.Getenv). The error, a
// fault.Invalid, names every variable that is wrong, and never shows a value.
func Load(getenv func(string) string) (Config, error) {
	var c Config
	var wrong []string
	for _, v := range Variables {
		value := getenv(v.Name)
		if value == "" {
			value = v.Default
		}
		if value == "" && !v.Required {
			continue
		}
		if err := v.set(&c, value); err != nil {
			wrong = append(wrong, v.Name+" "+err.Error())
		}
	}
	if c.KeysSecret != "" && c.Keys.Rotating != nil {
		wrong = append(wrong, "TOOLHOST_KEYS and TOOLHOST_KEYS_SECRET are both set")
	}
	if c.Auth == AuthOAuth {
		if c.OAuth.Issuer == "" || c.PublicURL == "" {
			wrong = append(wrong, "TOOLHOST_AUTH=oauth needs TOOLHOST_ISSUER and TOOLHOST_PUBLIC_URL")
		} else if err := auth.CheckURL(c.PublicURL); err != nil { // tokens are sent there
			wrong = append(wrong, "TOOLHOST_PUBLIC_URL "+err.Error()+", which TOOLHOST_AUTH=oauth needs")
		}
		if c.OAuth.Audience == "" {
			c.OAuth.Audience = c.PublicURL + "/mcp"
		}
	}
	if wrong != nil {
		return Config{}, fault.New(fault.Invalid, "config.Load", "%s", strings.Join(wrong, "; "))
	}
	return c, nil
}

func text(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, value string) error {
		if value == "" {
			return errors.New("is not set")
		}
		*field(c) = value
		return nil
	}
}

// size reads a limit that may be lowered alone: what else the parts agree on is
// made for the highest.
func size(most int, field func(*Config) *int) func(*Config, string) error {
	return func(c *Config, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 || n > most {
			return fmt.Errorf("is not a number of bytes from 1 to %d", most)
		}
		*field(c) = n
		return nil
	}
}

func setAuth(c *Config, value string) error {
	if c.Auth = Auth(value); c.Auth != AuthNone && c.Auth != AuthOAuth && c.Auth != AuthIAM {
		return errors.New("is not none, oauth or iam")
	}
	return nil
}

func secureURL(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, value string) error {
		*field(c) = value
		return auth.CheckURL(value)
	}
}

func setScopes(c *Config, value string) error {
	c.OAuth.Scopes = strings.Fields(value)
	if !slices.ContainsFunc(c.OAuth.Scopes, func(s string) bool { return !protocol.IsScope(s) }) {
		return nil
	}
	return errors.New("are not scopes, separated by spaces")
}

func setPublicURL(c *Config, value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("is not an http or https URL of host and path alone")
	}
	c.PublicURL = strings.TrimRight(value, "/")
	return nil
}

func setStreaming(c *Config, value string) (err error) {
	if c.Streaming, err = strconv.ParseBool(value); err != nil {
		return errors.New("is neither true nor false")
	}
	return nil
}

func list(field func(*Config) *[]string) func(*Config, string) error {
	return func(c *Config, value string) error {
		for entry := range strings.SplitSeq(value, ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				return errors.New("has an empty entry")
			}
			*field(c) = append(*field(c), entry)
		}
		return nil
	}
}

func setLogLevel(c *Config, value string) error {
	if err := c.LogLevel.UnmarshalText([]byte(value)); err != nil {
		return errors.New("is not debug, info, warn or error")
	}
	return nil
}

func setMaxListen(c *Config, value string) (err error) {
	if c.MaxListen, err = time.ParseDuration(value); err != nil || c.MaxListen < 0 || c.MaxListen > limits.MaxListen {
		return fmt.Errorf("is not a time up to %v, such as 5m", limits.MaxListen)
	}
	if c.MaxListen == 0 {
		c.MaxListen = -1
	}
	return nil
}

func setPollRate(c *Config, value string) (err error) {
	if c.PollRate, err = strconv.Atoi(value); err != nil || c.PollRate < 0 {
		return errors.New("is not a number of polls a second")
	}
	if c.PollRate == 0 {
		c.PollRate = -1
	}
	return nil
}

func setMaxCreations(c *Config, value string) (err error) {
	if c.Quota.Creations, err = strconv.Atoi(value); err != nil || c.Quota.Creations < 0 {
		return errors.New("is not a number of tasks a minute")
	}
	return nil
}

func setMaxOpenTasks(c *Config, value string) (err error) {
	if c.Quota.OpenTasks, err = strconv.Atoi(value); err != nil || c.Quota.OpenTasks < 0 || c.Quota.OpenTasks > limits.MostOpenTasks {
		return fmt.Errorf("is not a number of tasks up to %d", limits.MostOpenTasks)
	}
	return nil
}

func setKeys(c *Config, value string) (err error) {
	c.Keys, err = ParseKeys(value)
	return err
}
