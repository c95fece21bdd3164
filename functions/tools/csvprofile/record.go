package csvprofile

import (
	"bytes"
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf8"
)

// MaxRecord is the longest record that is read whole, in bytes of UTF-8. It
// bounds what an unclosed quote can swallow.
const MaxRecord = 1 << 20

// ending is how a line ends.
type ending uint8

const (
	endOfFile ending = iota
	endLF
	endCRLF
	endCR
)

// record is one row, as well as it could be read.
type record struct {
	fields    []string // valid until the next call
	line      int      // where it starts, counted from 1
	end       ending   // how its last line ends
	blanks    []int    // blank lines that were skipped before it
	misquoted bool     // its quoting breaks the rules, so its first line was read alone and leniently
	cut       bool     // it is longer than MaxRecord and what is beyond was dropped
}

// reader reads records. encoding/csv does the parsing; the reader hands it one
// physical line at a time, with any of LF, CRLF and CR as its end, and so always
// knows where a record began and can read it again in another way.
//
// A record that breaks the rules of quoting is read again as its first line
// alone, with LazyQuotes (or with quotes as plain characters, if only that gives
// the right number of fields), and reading goes on at the second line: one bad
// quote costs a line, not the rest of the file. This stays linear, because the lines
// that a broken record ran over hold no quote that could start such a run again.
type reader struct {
	text []byte
	csv  *csv.Reader
	// width is how many fields a record should have; 0 if that is unknown.
	width int

	at, until int    // what is left to hand out
	line      int    // line that at is on
	end       ending // of the last line handed out
}

func newReader(text []byte, line int, delimiter rune) *reader {
	r := &reader{text: text, line: line}
	r.csv = newCSV(r, delimiter)
	return r
}

func newCSV(from io.Reader, delimiter rune) *csv.Reader {
	c := csv.NewReader(from)
	c.Comma = delimiter
	c.FieldsPerRecord = -1
	c.ReuseRecord = true
	return c
}

// next returns the next record, or io.EOF.
func (r *reader) next() (record, error) {
	rec := record{}
	for r.at < len(r.text) && lineEnd(r.text[r.at:]) != endOfFile {
		rec.blanks = append(rec.blanks, r.line)
		r.passEnd()
	}
	if r.at == len(r.text) {
		return record{}, io.EOF
	}
	start := r.at
	rec.line = r.line
	r.until = r.limit(start)

	var err error
	rec.fields, err = r.csv.Read()
	switch {
	case err != nil:
		rec.misquoted = true
		first := r.until
		if i := bytes.IndexAny(r.text[start:first], "\r\n"); i >= 0 {
			first = start + i
		}
		r.at, r.until, r.line = start, first, rec.line
		r.csv.LazyQuotes = true
		rec.fields, err = r.csv.Read()
		r.csv.LazyQuotes = false
		if err != nil {
			return record{}, err
		}
		plain := strings.Split(string(r.text[start:first]), string(r.csv.Comma))
		if len(rec.fields) != r.width && len(plain) == r.width {
			rec.fields = plain
		}
		rec.cut = r.passRest()
	case r.at == r.until && r.at < len(r.text) && r.end == endOfFile:
		rec.cut = r.passRest()
	}
	rec.end = r.end
	return rec, nil
}

// limit is where a record that begins at start has to end, at a character's
// border.
func (r *reader) limit(start int) int {
	end := min(start+MaxRecord, len(r.text))
	for end < len(r.text) && end > start && !utf8.RuneStart(r.text[end]) {
		end--
	}
	return end
}

// Read implements io.Reader for encoding/csv: the rest of one line at most, and
// every line end as LF.
func (r *reader) Read(p []byte) (int, error) {
	if r.at >= r.until {
		return 0, io.EOF
	}
	r.end = endOfFile
	chunk := r.text[r.at:min(r.until, r.at+len(p))]
	switch i := bytes.IndexAny(chunk, "\r\n"); i {
	case 0:
		r.passEnd()
		p[0] = '\n'
		return 1, nil
	case -1:
		r.at += len(chunk)
		return copy(p, chunk), nil
	default:
		r.at += i
		return copy(p, chunk[:i]), nil
	}
}

// passEnd passes the line end at which the reader stands.
func (r *reader) passEnd() {
	r.end = lineEnd(r.text[r.at:])
	r.at++
	if r.end == endCRLF {
		r.at++
	}
	r.line++
}

// passRest passes what is left of a line, and reports whether that was any text.
func (r *reader) passRest() bool {
	r.end = endOfFile
	i := bytes.IndexAny(r.text[r.at:], "\r\n")
	if i < 0 {
		i = len(r.text) - r.at
	}
	r.at += i
	if r.at < len(r.text) {
		r.passEnd()
	}
	return i > 0
}

// lineEnd is the line end that text begins with, or endOfFile.
func lineEnd(text []byte) ending {
	switch {
	case bytes.HasPrefix(text, []byte("\r\n")):
		return endCRLF
	case bytes.HasPrefix(text, []byte("\n")):
		return endLF
	case bytes.HasPrefix(text, []byte("\r")):
		return endCR
	default:
		return endOfFile
	}
}
