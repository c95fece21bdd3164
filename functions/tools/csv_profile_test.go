package tools

import (
	"encoding/base64"
	"strings"
	"testing"

	"toolhost/pkg/tool/tooltest"
)

func TestCSVProfile(t *testing.T) {
	start := func(t *testing.T, args object) *tooltest.Call {
		return tooltest.Start(t, Registry(), "csv_profile", args, tooltest.Sync())
	}
	t.Run("profiles_text", func(t *testing.T) {
		out := result[csvProfileOutput](t, start(t, object{"file": "id,city\n1,Berlin\n2,\n", "name": "cities.csv"}))
		if out.Name != "cities.csv" || out.Rows != 2 || len(out.Columns) != 2 || out.Columns[1].Empty != 1 || !out.Header {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("profiles_an_empty_file", func(t *testing.T) {
		out := result[csvProfileOutput](t, start(t, object{"file": ""}))
		if out.Rows != 0 || out.Warnings[0].Code != "no_records" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("profiles_base64", func(t *testing.T) {
		out := result[csvProfileOutput](t, start(t, object{
			"file": base64.StdEncoding.EncodeToString([]byte("caf\xe9;1\nth\xe9;2\n")), "encoding": "base64", "header": "no",
		}))
		if out.Encoding != "windows-1252" || out.Columns[0].Min != "café" || out.Rows != 2 {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("takes_a_delimiter", func(t *testing.T) {
		for given, file := range map[string]string{"tab": "a\tb", `\t`: "a\tb", "\t": "a\tb", ":": "a:b", "·": "a·b"} {
			out := result[csvProfileOutput](t, start(t, object{"file": file, "delimiter": given}))
			if len(out.Columns) != 2 {
				t.Errorf("%q: got %+v", given, out)
			}
		}
	})
	for name, test := range map[string]struct {
		args object
		says string
	}{
		"no_file":           {object{}, "file"},
		"bad_base64":        {object{"file": "%%%", "encoding": "base64"}, "file: this is not base64"},
		"unknown_encoding":  {object{"file": "a", "encoding": "rot13"}, "encoding"},
		"unknown_header":    {object{"file": "a", "header": "perhaps"}, "header"},
		"long_delimiter":    {object{"file": "a", "delimiter": "ab"}, "delimiter: one character"},
		"quote_delimiter":   {object{"file": "a", "delimiter": `"`}, "can't be a delimiter"},
		"binary_data":       {object{"file": "\x00\x01\x02\x03"}, "the file is not text"},
		"too_many_columns":  {object{"file": strings.Repeat("a,", 2000)}, "the limit is 1000 columns"},
		"an_extra_property": {object{"file": "a", "files": "b"}, "files"},
	} {
		t.Run(name+"_is_a_tool_error_that_says_so", func(t *testing.T) { // R-H8
			says := start(t, test.args).ToolError()
			if !strings.Contains(says, test.says) || strings.Contains(says, "csvprofile.") {
				t.Errorf("it says %q, want %q", says, test.says)
			}
		})
	}
	t.Run("reports_bytes", func(t *testing.T) {
		file := strings.Repeat("a,b\n", 100_000)
		c := tooltest.Start(t, Registry(), "csv_profile", object{"file": file})
		c.Result()
		reports := c.Reports()
		if last := reports[len(reports)-1]; len(reports) < 5 || last.Done != float64(len(file)) || last.Total != last.Done {
			t.Errorf("got %d reports, last %+v", len(reports), last)
		}
	})
	t.Run("small_files_are_instant", func(t *testing.T) { // R-C5
		listed, _ := Registry().Lookup("csv_profile")
		small, large := []byte(`{"file":"a,b"}`), []byte(`{"file":"`+strings.Repeat("x", instantFile)+`"}`)
		if !listed.Instant(small) || listed.Instant(large) {
			t.Error("files below 64 KB and no others are instant")
		}
	})
}
