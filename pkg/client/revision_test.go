package client_test

import (
	"errors"
	"strings"
	"testing"

	"toolhost/pkg/client"
	"toolhost/pkg/protocol"
)

// unsupported is the error for a version, as the revision of that name numbers it.
func unsupported(code, versions string) reply {
	return reply{status: 400, body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":` + code + `,"message":"m","data":{"supported":[` + versions + `],"requested":"x"}}}`}
}

func refusal(status int, code string) reply {
	return reply{status: status, body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":` + code + `,"message":"refused"}}`}
}

// versions are the revisions in which a server was spoken to.
func (s *script) versions() string {
	var all []string
	for _, x := range s.seen {
		v := x.header.Get("MCP-Protocol-Version")
		if x.body.Method == "initialize" {
			v = "initialize"
		}
		all = append(all, strings.TrimPrefix(v, "202"))
	}
	return strings.Join(all, " ")
}

// Versioning, and backward compatibility over Streamable HTTP.
func TestRevisions(t *testing.T) { // R-H3, R-B4, from the other side
	plain := result(`{"resultType":"complete","content":[]}`)
	agreed := result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	accepted := reply{status: 202}
	older := result(`{"content":[]}`)
	for name, test := range map[string]struct {
		begin   string
		replies []reply
		want    string // versions
		fails   bool
	}{
		"the_newest_is_spoken_first":                        {"", []reply{plain}, "6-07-28 6-07-28", false},
		"a_server_that_knows_the_draft_name_alone":          {"", []reply{unsupported("-32004", `"2026-06-30"`), plain}, "6-07-28 6-06-30 6-06-30", false},
		"and_says_so_with_the_later_code":                   {"", []reply{unsupported("-32022", `"2025-11-25","2026-06-30"`), plain}, "6-07-28 6-06-30 6-06-30", false},
		"one_that_knows_the_later_name_alone":               {"2026-06-30", []reply{unsupported("-32022", `"2026-07-28"`), plain}, "6-06-30 6-07-28 6-07-28", false},
		"one_that_names_older_ones":                         {"", []reply{unsupported("-32022", `"2025-11-25","2025-06-18"`), agreed, accepted, older}, "6-07-28 initialize 5-11-25 5-11-25 5-11-25", false},
		"one_of_a_future_that_is_not_known_here":            {"", []reply{unsupported("-32022", `"2031-01-01"`)}, "6-07-28 6-07-28", true},
		"one_that_sends_back_and_forth":                     {"", []reply{unsupported("-32022", `"2026-06-30"`), unsupported("-32022", `"2026-07-28"`), unsupported("-32022", `"2026-06-30"`), unsupported("-32022", `"2026-07-28"`), plain}, "6-07-28 6-06-30 6-07-28 6-06-30 6-06-30", true},
		"one_that_wants_a_session":                          {"", []reply{refusal(400, "-32000"), agreed, accepted, older}, "6-07-28 initialize 5-11-25 5-11-25 5-11-25", false},
		"one_that_finds_params_wrong_that_it_does_not_know": {"", []reply{refusal(400, "-32602"), agreed, accepted, older}, "6-07-28 initialize 5-11-25 5-11-25 5-11-25", false},
		"one_that_says_it_in_words":                         {"", []reply{{status: 400, body: "Bad Request: no session"}, agreed, accepted, older}, "6-07-28 initialize 5-11-25 5-11-25 5-11-25", false},
		"one_without_a_body":                                {"", []reply{{status: 405}, agreed, accepted, older}, "6-07-28 initialize 5-11-25 5-11-25 5-11-25", false},
		"an_older_one_that_was_asked_for":                   {"2025-06-18", []reply{agreed, accepted, older}, "initialize 5-11-25 5-11-25 5-11-25", false},
		"an_older_one_that_has_become_new":                  {"2025-11-25", []reply{unsupported("-32022", `"2026-07-28"`), plain}, "initialize 6-07-28 6-07-28", false},
		"a_call_that_fails_is_not_made_in_another":          {"", []reply{refusal(200, "-32000")}, "6-07-28 6-07-28", true},
		"nor_one_whose_headers_differ":                      {"", []reply{refusal(400, "-32021")}, "6-07-28 6-07-28", true},
		"nor_one_that_is_not_allowed":                       {"", []reply{refusal(403, "-32000")}, "6-07-28 6-07-28", true},
		"nor_one_of_a_kind_that_is_not":                     {"", []reply{refusal(403, "-32601")}, "6-07-28 6-07-28", true},
		"nor_one_that_a_known_server_refuses":               {"", []reply{plain, refusal(404, "-32601")}, "6-07-28 6-07-28", false},
		"where_initialize_is_refused_the_first_answer_counts": {"", []reply{refusal(404, "-32601"), refusal(400, "-32602"), refusal(404, "-32601"), refusal(400, "-32602")},
			"6-07-28 initialize 6-07-28 initialize", true},
		"where_it_agrees_on_what_is_not_known_too": {"", []reply{refusal(404, "-32601"), result(`{"protocolVersion":"1999-01-01"}`), refusal(404, "-32601"), result(`{}`)}, "6-07-28 initialize 6-07-28 initialize", true},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := scripted(client.Options{Revision: test.begin}, test.replies...)
			_, err := c.Call(t.Context(), "x", nil, client.Watch{})
			_, _ = c.Call(t.Context(), "x", nil, client.Watch{}) // it is found out once
			if (err != nil) != test.fails || s.versions() != test.want {
				t.Errorf("%v; spoke %s, want %s", err, s.versions(), test.want)
			}
			var refused *client.Error
			if test.fails && (!errors.As(err, &refused) || refused.Code == -32602) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("both_names_reach_the_real_server", func(t *testing.T) {
		url := serve(t, nil)
		for _, revision := range protocol.Modern {
			c := client.New(url, client.Options{Revision: revision, Clock: hasty{}})
			got, err := c.Call(t.Context(), "slow_compute", []byte(`{"seconds":1}`), client.Watch{})
			if err != nil || !strings.Contains(text(t, got), "1 seconds") {
				t.Errorf("%s: %s, %v", revision, got, err)
			}
			if _, err := c.Wait(t.Context(), "none", client.Watch{}); !errors.Is(err, client.ErrUnknownTask) {
				t.Errorf("%s: %v", revision, err)
			}
		}
	})
}
