package csvprofile

import (
	"fmt"
	"slices"
	"strings"
)

// Warning is something odd about a file. It never keeps the rest of the file
// from being profiled.
type Warning struct {
	Code    string `json:"code" jsonschema:"what is odd, for programs: byte_order_mark, encoding_guessed, undecodable, nul_bytes, mixed_line_ends, quoting, too_long, short_rows, long_rows, blank_lines, duplicate_names, empty_names or no_records"`
	Message string `json:"message" jsonschema:"the same for people, and how it was treated"`
	Count   int    `json:"count" jsonschema:"how often"`
	Lines   []int  `json:"lines,omitempty" jsonschema:"the first lines where it is, up to 5, counted from 1"`
}

// maxLines is how many line numbers a warning names.
const maxLines = 5

// messages says each warning, in the order in which they are reported. A %s is
// filled with the warning's details.
var messages = []struct{ code, text string }{
	{"no_records", "The file holds no records."},
	{"byte_order_mark", "The file begins with a byte order mark, which is not part of the data."},
	{"encoding_guessed", "The file is not UTF-8; it was read as %s."},
	{"undecodable", "Some characters can't be decoded, or were lost before, and stand as U+FFFD."},
	{"nul_bytes", "NUL bytes were removed."},
	{"mixed_line_ends", "Records end in different ways: %s."},
	{"quoting", "Quotes break the rules of CSV, or are not closed within %s bytes. Each such line was read by itself, so a field with line ends in it may have become several rows."},
	{"too_long", "Records are longer than %s bytes and were cut there."},
	{"short_rows", "Rows have fewer fields than the first record; the missing ones count as empty."},
	{"long_rows", "Rows have more fields than the first record; what is beyond was left out."},
	{"blank_lines", "Blank lines between records were skipped."},
	{"duplicate_names", "Columns have the same name: %s."},
	{"empty_names", "Columns have no name and were named column_N."},
}

// warnings gathers them by code.
type warnings map[string]*Warning

// add counts a warning. line 0 stands for the file as a whole.
func (w warnings) add(code string, line int) {
	if w[code] == nil {
		w[code] = &Warning{Code: code}
	}
	w[code].Count++
	if line > 0 && len(w[code].Lines) < maxLines {
		w[code].Lines = append(w[code].Lines, line)
	}
}

// list returns the warnings as they are reported, never nil. details fill the
// messages that have a %s.
func (w warnings) list(details map[string]string) []Warning {
	list := []Warning{}
	for _, m := range messages {
		if one := w[m.code]; one != nil {
			one.Message = m.text
			if strings.Contains(m.text, "%s") {
				one.Message = fmt.Sprintf(m.text, details[m.code])
			}
			list = append(list, *one)
		}
	}
	return list
}

// endCounts counts how records end.
type endCounts [endCR + 1]int

// mixed says how they end if there is more than one way, else "".
func (e endCounts) mixed() string {
	var ways []string
	for end, name := range map[ending]string{endLF: "LF", endCRLF: "CRLF", endCR: "CR"} {
		if e[end] > 0 {
			ways = append(ways, fmt.Sprintf("%s (%d)", name, e[end]))
		}
	}
	if len(ways) < 2 {
		return ""
	}
	slices.Sort(ways)
	return strings.Join(ways, ", ")
}
