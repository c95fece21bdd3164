package csvprofile

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"toolhost/pkg/fault"
)

var update = flag.Bool("update", false, "write the profiles under testdata/golden anew")

func utf16(order unicode.Endianness, s string) string {
	out, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String(s)
	if err != nil {
		panic(err)
	}
	return out
}

// cases are files as people have them. What each is taken for is in
// testdata/golden, a file each: read them as the description of this package.
var cases = []struct {
	name, file string
	options    Options
}{
	{name: "empty_file"},
	{name: "only_line_ends", file: "\n\n\r\n"},
	{name: "header_only", file: "id,name\n"},
	{name: "header_forced_on_numbers", file: "country,2019,2020\nDE,1,2\n", options: Options{Header: HeaderYes}},
	{name: "numbers_are_no_header", file: "1,2\n3,4\n"},
	{name: "header_denied", file: "red\ngreen\n", options: Options{Header: HeaderNo}},
	{name: "one_column", file: "city\nBerlin\nParis\nBerlin\n"},
	{name: "no_trailing_newline", file: "a,b\n1,2\n3,4"},
	{name: "cr_only", file: "a,b\r1,2\r3,4\r"},
	{name: "mixed_line_ends", file: "a,b\n1,2\r\n3,4\r5,6\n"},
	{name: "crlf_rows_with_lf_in_fields", file: "a,b\r\n1,\"x\ny\"\r\n2,\"z\nw\"\r\n"},
	{name: "blank_lines", file: "\na,b\n1,2\n\n\n3,4\n\n"},
	{name: "utf8_with_byte_order_mark", file: "\ufeffname,größe\nÄpfel,3\n"},
	{name: "utf16_little_endian", file: utf16(unicode.LittleEndian, "name\tgröße\r\n東京\t3\r\n")},
	{name: "utf16_big_endian", file: utf16(unicode.BigEndian, "name;größe\n😀;3\n")},
	{name: "windows_1252", file: "name,price\nM\xfcller,5 \x80\nCaf\xe9,7 \x80\n"},
	{name: "damaged_utf8", file: "name,n\nMüller,1\nCafé \xff,2\n"},
	{name: "nul_bytes", file: "a,b\nx\x00,1\ny,2\nanother,3\n"},
	{name: "quotes_inside", file: "said,n\n\"She said \"\"hi\"\"\",1\n\"a, b\",2\n"},
	{name: "bare_quotes", file: "size,n\n5\" pipe,1\n\"half\" inch,2\nfine,3\n"},
	{name: "unclosed_quote", file: "a,b\n1,\"open\n2,two\n3,three\n"},
	{name: "unclosed_quote_in_last_line", file: "a,b\n1,x\n2,\"y"},
	{name: "ragged_rows", file: "a,b,c\n1,2,3\n1,2\n1\n1,2,3,4\n1,2,3\n"},
	{name: "duplicate_and_empty_names", file: "id,name,,name, id \n1,a,b,c,d\n"},
	{name: "semicolons_and_decimal_commas", file: "1,5;2,5\n3,5;4,5\n"},
	{name: "separator_line", file: "sep=|\r\na|b;c\r\n1|2\r\n"},
	{name: "tabs", file: "name\tnote\nx\tone, two\ny\tthree; four\n"},
	{name: "commas_with_bars_in_some_fields", file: "id,tags\n1,a|b\n2,c\n3,d|e|f\n"},
	{name: "delimiter_given", file: "a:b,c\n1:2,3\n", options: Options{Delimiter: ':'}},
	{name: "types", file: "int,num,bool,date,time,code,mixed,none\n" +
		"-5,1.5,true,2024-01-31,2024-01-31 10:00,00123,1,\n" +
		"12,2e3,No,2023-12-01,2024-01-31T10:00:00+02:00,00045,x, \n" +
		"+7,3,FALSE,2024-02-01,2024-01-30,10115,,\n"},
	{name: "dates", file: "iso,german,slashed\n2024-1-5,5.1.2024,1/5/2024\n2023-12-31,31.12.2023,31/12/2023\n"},
	{name: "huge_numbers", file: "int,float,beyond\n9007199254740993,1.7e308,1e999\n9007199254740992,-1.7e308,1\n12345678901234567890123,1e308,2\n"},
	{name: "quantiles", file: "n\n" + strings.ReplaceAll(strings.Trim(fmt.Sprint(upTo(100)), "[]"), " ", "\n")},
	{name: "white_space", file: "a,b\n 1 , x \n2,\t\n"},
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

func TestOf(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := Of(t.Context(), []byte(c.file), c.options)
			if err != nil {
				t.Fatal(err)
			}
			got := &bytes.Buffer{}
			fmt.Fprintf(got, "%q\n\n", c.file)
			enc := json.NewEncoder(got)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(p); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "golden", c.name+".txt")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := readFile(t, golden); got.String() != want {
				t.Errorf("got %s\nwant %s (write anew with -update)", got, want)
			}
		})
	}
}

func TestOf_refuses(t *testing.T) {
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file    string
		options Options
		kind    fault.Kind
		says    string
	}{
		"a picture":             {file: string(png), kind: fault.Invalid, says: "image/png"},
		"a spreadsheet":         {file: "PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00\x01\x02\x03", kind: fault.Invalid, says: ".xlsx"},
		"noise":                 {file: "\x01\x02\x03\x04\xff\xfe\x05a,b", kind: fault.Invalid, says: "not text"},
		"UTF-16 without a mark": {file: "a\x00,\x00b\x00\n\x00", kind: fault.Invalid, says: "not text"},
		"too many columns":      {file: strings.Repeat("a,", MaxColumns), kind: fault.TooLarge, says: "1000"},
		"a quote as delimiter":  {file: "a", options: Options{Delimiter: '"'}, kind: fault.Invalid, says: "delimiter"},
		"an unknown header":     {file: "a", options: Options{Header: "perhaps"}, kind: fault.Invalid, says: "perhaps"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Of(t.Context(), []byte(c.file), c.options)
			if !fault.Is(err, c.kind) || !strings.Contains(fault.Message(err), c.says) {
				t.Errorf("got %v, want a fault %q that says %q", err, c.kind, c.says)
			}
		})
	}
}

func TestOf_large(t *testing.T) {
	t.Run("a_field_past_the_limit_is_cut_and_named", func(t *testing.T) {
		file := "a,b\n1,2\n3," + strings.Repeat("é", MaxRecord) + "\n5,6\n"
		p := profile(t, file, Options{})
		if p.Rows != 3 || p.Columns[0].Max != "5" {
			t.Errorf("got %d rows, up to %s: the rest of the file is lost", p.Rows, p.Columns[0].Max)
		}
		w := p.Warnings[len(p.Warnings)-1]
		if w.Code != "too_long" || w.Lines[0] != 3 || !strings.Contains(w.Message, "1048576") {
			t.Errorf("got warning %+v", w)
		}
		if n := p.Columns[1].MaxLength; n != MaxRecord/2-1 {
			t.Errorf("the cut field has %d characters", n)
		}
	})
	t.Run("a_quote_closed_past_the_limit_costs_a_line", func(t *testing.T) {
		p := profile(t, "a,b\n1,\""+strings.Repeat("x,y\n", MaxRecord/4)+"\"\n5,6\n", Options{})
		if p.Rows < MaxRecord/4 || p.Columns[0].Top[0].Value != "x" {
			t.Errorf("got %d rows, first of all %+v", p.Rows, p.Columns[0].Top)
		}
	})
	t.Run("estimates_are_near_and_say_so", func(t *testing.T) {
		const n = 60_000
		file := &strings.Builder{}
		file.WriteString("id,n\n")
		for i := range n {
			fmt.Fprintf(file, "user%d,%d\n", i, i*7919%n)
		}
		p := profile(t, file.String(), Options{})
		id, num := p.Columns[0], p.Columns[1]
		if id.DistinctExact || math.Abs(float64(id.Distinct)-n) > n*.03 {
			t.Errorf("distinct is %d (exact: %v), want about %d", id.Distinct, id.DistinctExact, n)
		}
		if q := num.Quantiles; q.Exact || math.Abs(q.P50-n/2) > n*.01 || math.Abs(q.P95-n*.95) > n*.01 {
			t.Errorf("quantiles are %+v", *q)
		}
		if again := profile(t, file.String(), Options{}); fmt.Sprint(again.Columns[0].Distinct, *again.Columns[1].Quantiles) != fmt.Sprint(id.Distinct, *num.Quantiles) {
			t.Error("the same file has another profile the second time")
		}
	})
	t.Run("long_values_that_begin_alike_stay_different", func(t *testing.T) {
		long := strings.Repeat("x", 5000)
		p := profile(t, "v\n"+long+"1\n"+long+"2\n"+long+"1\n", Options{})
		if c := p.Columns[0]; c.Distinct != 2 || c.Top[0].Count != 2 || len(c.Top[0].Value) > 2*MaxShown {
			t.Errorf("got %+v", c)
		}
	})
}

func TestOf_context(t *testing.T) {
	t.Run("progress_rises_to_the_total", func(t *testing.T) {
		last, calls := 0, 0
		p := strings.Repeat("a,b\n", 100_000)
		profile(t, p, Options{Progress: func(done, total int) {
			if done < last || total != len(p) {
				t.Errorf("%d after %d of %d", done, last, total)
			}
			last = done
			calls++
		}})
		if last != len(p) || calls < 5 {
			t.Errorf("ended at %d after %d calls", last, calls)
		}
	})
	t.Run("ends_with_its_context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		_, err := Of(ctx, []byte(strings.Repeat("a,b\n", 100_000)), Options{Progress: func(done, total int) {
			calls++
			cancel()
		}})
		if !errors.Is(err, context.Canceled) || calls != 1 {
			t.Errorf("got %v after %d reports", err, calls)
		}
	})
}

func profile(t *testing.T, file string, o Options) *Profile {
	t.Helper()
	p, err := Of(t.Context(), []byte(file), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FuzzOf: whatever the bytes, there is a profile that adds up, or a fault.
func FuzzOf(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := Of(t.Context(), file, Options{})
		if err != nil {
			if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.TooLarge) {
				t.Fatal(err)
			}
			return
		}
		if most := bytes.Count(file, []byte("\n")) + bytes.Count(file, []byte("\r")) + 1; p.Rows > most {
			t.Errorf("%d rows in %d lines", p.Rows, most)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
		for _, c := range p.Columns {
			top := 0
			for _, v := range c.Top {
				top += v.Count
			}
			if c.Count+c.Empty != p.Rows || c.Distinct > c.Count || top > c.Count || c.Count > 0 && c.Distinct == 0 {
				t.Errorf("does not add up in %d rows: %+v", p.Rows, c)
			}
		}
	})
}

// Bad quoting must not make reading quadratic: each line is read from its start
// at most twice, and runs over further lines do not overlap.
func TestReader_is_linear(t *testing.T) {
	for _, line := range []string{"\"\n", "\"a\n", "\"a\"b\n", ",\"\"\n", "\"\"\"\n", "a\"\n", "\"a\"\"\n", "x,\"a\"\"\n\"\"\n", "\"\n\n\n\n"} {
		text := []byte(strings.Repeat(line, 20_000))
		r := newReader(text, 1, ',')
		count := &counter{r: r}
		r.csv = newCSV(count, ',')
		for {
			if _, err := r.next(); err != nil {
				break
			}
		}
		if count.n > 4*len(text) {
			t.Errorf("%q: %d bytes handed out for a file of %d", line, count.n, len(text))
		}
	}
}

type counter struct {
	r *reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}
