package csvprofile

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"toolhost/pkg/fault"
)

// MaxColumns is how many columns a file may have.
const MaxColumns = 1000

// Header says whether the first record names the columns.
type Header string

const (
	// HeaderAuto takes the first record for names unless one of its fields is a
	// number, a boolean, a date or a datetime, or has digits and no letter.
	HeaderAuto Header = "auto"
	HeaderYes  Header = "yes"
	HeaderNo   Header = "no"
)

// Options say what is known about a file. The zero value detects everything.
type Options struct {
	// Delimiter separates fields; 0 detects comma, semicolon, tab or bar.
	Delimiter rune
	// Header is HeaderAuto if "".
	Header Header
	// Progress, if set, is called now and then with the bytes read so far, of
	// UTF-8 text, and their total; the last call has both equal.
	Progress func(done, total int)
}

// Profile is what is in a file.
type Profile struct {
	Encoding  string    `json:"encoding" jsonschema:"utf-8, utf-16le, utf-16be or windows-1252"`
	Delimiter string    `json:"delimiter" jsonschema:"what separates fields"`
	Header    bool      `json:"header" jsonschema:"whether the first record was taken for the columns' names"`
	Rows      int       `json:"rows" jsonschema:"records, without the header"`
	Columns   []Column  `json:"columns" jsonschema:"the columns in the file's order"`
	Warnings  []Warning `json:"warnings" jsonschema:"what is odd about the file; empty if nothing is"`
}

// Of profiles a file. Its errors are fault.Invalid (no text, or an option that
// makes no sense), fault.TooLarge (more than MaxColumns columns), or ctx's, which
// it checks throughout.
func Of(ctx context.Context, data []byte, o Options) (*Profile, error) {
	const op = "csvprofile.Of"
	if o.Delimiter != 0 && !validDelimiter(o.Delimiter) {
		return nil, fault.New(fault.Invalid, op, "%q can't be a delimiter", o.Delimiter)
	}
	if !slices.Contains([]Header{"", HeaderAuto, HeaderYes, HeaderNo}, o.Header) {
		return nil, fault.New(fault.Invalid, op, "header is %q; it can be auto, yes or no", o.Header)
	}
	d, err := decode(data)
	if err != nil {
		return nil, err
	}
	text, firstLine := d.text, 1
	if r, length := separatorLine(text); length > 0 && (o.Delimiter == 0 || o.Delimiter == r) {
		o.Delimiter, text, firstLine = r, text[length:], 2
	}
	if o.Delimiter == 0 {
		o.Delimiter = detectDelimiter(text)
	}
	s := scan{reader: newReader(text, firstLine, o.Delimiter), header: o.Header, warnings: warnings{}}
	if err := s.run(ctx, o.Progress); err != nil {
		return nil, err
	}
	return s.profile(d), nil
}

// scan is one pass over a file's records.
type scan struct {
	reader   *reader
	header   Header
	names    []string // nil without a header
	columns  []*column
	rows     int
	ends     endCounts
	warnings warnings
}

// progressEvery is how many bytes lie between two reports.
const progressEvery = 64 << 10

func (s *scan) run(ctx context.Context, progress func(done, total int)) error {
	total, reported := len(s.reader.text), 0
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := s.reader.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fault.Wrap(fault.Internal, "csvprofile.Of", err)
		}
		s.note(rec)
		if first {
			if err := s.begin(rec.fields); err != nil {
				return err
			}
		}
		if !first || s.names == nil {
			s.add(rec)
		}
		if progress != nil && s.reader.at-reported >= progressEvery && s.reader.at < total {
			reported = s.reader.at
			progress(reported, total)
		}
	}
	if progress != nil {
		progress(total, total)
	}
	return nil
}

// begin sets the columns up from the first record.
func (s *scan) begin(fields []string) error {
	if len(fields) > MaxColumns {
		return fault.New(fault.TooLarge, "csvprofile.Of", "the first record has %d fields; the limit is %d columns. Is the delimiter %q right?", len(fields), MaxColumns, s.reader.csv.Comma)
	}
	// What is kept of all columns together is bounded too.
	limit := max(100, min(10_000, 200_000/len(fields)))
	s.reader.width = len(fields)
	for range fields {
		s.columns = append(s.columns, newColumn(limit))
	}
	if s.header == HeaderYes || s.header != HeaderNo && looksLikeHeader(fields) {
		s.names = slices.Clone(fields)
	}
	return nil
}

func looksLikeHeader(fields []string) bool {
	return !slices.ContainsFunc(fields, func(f string) bool {
		t, _ := classify(f)
		return t != String && t != Empty || strings.ContainsFunc(f, unicode.IsDigit) && !strings.ContainsFunc(f, unicode.IsLetter)
	})
}

func (s *scan) note(rec record) {
	s.ends[rec.end]++
	if rec.misquoted {
		s.warnings.add("quoting", rec.line)
	}
	if rec.cut {
		s.warnings.add("too_long", rec.line)
	}
	for _, line := range rec.blanks {
		s.warnings.add("blank_lines", line)
	}
}

func (s *scan) add(rec record) {
	s.rows++
	switch {
	case len(rec.fields) < len(s.columns):
		s.warnings.add("short_rows", rec.line)
	case len(rec.fields) > len(s.columns):
		s.warnings.add("long_rows", rec.line)
	}
	for i, c := range s.columns {
		if i < len(rec.fields) {
			c.add(rec.fields[i])
		} else {
			c.empty++
		}
	}
}

func (s *scan) profile(d decoded) *Profile {
	for code, n := range map[string]int{"undecodable": d.replaced, "nul_bytes": d.nuls} {
		if n > 0 {
			s.warnings[code] = &Warning{Code: code, Count: n}
		}
	}
	mixed := s.ends.mixed()
	for code, applies := range map[string]bool{
		"byte_order_mark":  d.bom,
		"encoding_guessed": d.guessed,
		"mixed_line_ends":  mixed != "",
		"no_records":       len(s.columns) == 0,
	} {
		if applies {
			s.warnings.add(code, 0)
		}
	}
	p := &Profile{
		Encoding:  d.encoding,
		Delimiter: string(s.reader.csv.Comma),
		Header:    s.names != nil,
		Rows:      s.rows,
		Columns:   make([]Column, 0, len(s.columns)),
	}
	names, doubles := s.columnNames()
	for i, c := range s.columns {
		p.Columns = append(p.Columns, c.profile(names[i]))
	}
	limit := fmt.Sprint(MaxRecord)
	p.Warnings = s.warnings.list(map[string]string{
		"encoding_guessed": d.encoding,
		"mixed_line_ends":  mixed,
		"quoting":          limit,
		"too_long":         limit,
		"duplicate_names":  doubles,
	})
	return p
}

// columnNames returns a name for each column, and those that several have.
func (s *scan) columnNames() (names []string, doubles string) {
	seen, double := map[string]int{}, []string{}
	for i := range s.columns {
		name := ""
		if s.names != nil {
			name = strings.TrimSpace(s.names[i])
		}
		if name == "" {
			name = fmt.Sprintf("column_%d", i+1)
			if s.names != nil {
				s.warnings.add("empty_names", 0)
			}
		}
		if seen[name]++; seen[name] == 2 {
			double = append(double, clip(name))
			s.warnings.add("duplicate_names", 0)
		}
		names = append(names, clip(name))
	}
	return names, strings.Join(double[:min(len(double), 10)], ", ")
}
