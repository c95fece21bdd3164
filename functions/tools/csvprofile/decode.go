package csvprofile

import (
	"bytes"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"toolhost/pkg/fault"
)

// decoded is a file as UTF-8 text without a byte order mark or NULs.
type decoded struct {
	text     []byte
	encoding string
	bom      bool
	// guessed means that the encoding is only the likeliest.
	guessed bool
	// nuls were removed; replaced stand in the text as U+FFFD.
	nuls, replaced int
}

// decode finds the encoding: the byte order mark's, else UTF-8, else
// windows-1252, in which every byte means something. A fault.Invalid error says
// that the data is no text.
func decode(raw []byte) (decoded, error) {
	d := decoded{text: raw, encoding: "utf-8"}
	var from encoding.Encoding
	switch {
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")):
		d.bom, d.text = true, raw[3:]
	case bytes.HasPrefix(raw, []byte("\xff\xfe")):
		d.bom, d.encoding, from = true, "utf-16le", unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.HasPrefix(raw, []byte("\xfe\xff")):
		d.bom, d.encoding, from = true, "utf-16be", unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM)
	}
	if from == nil && !utf8.Valid(d.text) {
		from = unicode.UTF8
		if !mostlyUTF8(d.text) {
			d.encoding, d.guessed, from = "windows-1252", true, charmap.Windows1252
		}
	}
	if from != nil {
		text, err := from.NewDecoder().Bytes(d.text)
		if err != nil {
			return decoded{}, fault.New(fault.Invalid, "csvprofile.decode", "the file can't be read as %s: %v", d.encoding, err)
		}
		d.text = text
	}
	if isBinary(d.text) {
		return decoded{}, fault.New(fault.Invalid, "csvprofile.decode", "the file is not text%s, so it can't be profiled as CSV", guessContent(raw))
	}
	if d.nuls = bytes.Count(d.text, []byte{0}); d.nuls > 0 {
		d.text = bytes.ReplaceAll(d.text, []byte{0}, nil)
	}
	d.replaced = bytes.Count(d.text, []byte(string(utf8.RuneError)))
	return d, nil
}

// mostlyUTF8 tells damaged UTF-8 from text in an eight-bit encoding, where bytes
// beyond ASCII hardly ever form a character of UTF-8.
func mostlyUTF8(text []byte) bool {
	good, bad := 0, 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		text = text[n:]
	}
	return good > bad
}

// isBinary reports whether the text has more control characters than any table
// would: 2 %, or 20 % of NULs, which broken exports do leave behind. The ASCII
// separators do not count, as some files are delimited by them.
func isBinary(text []byte) bool {
	sample := text[:min(len(text), sampleSize)]
	controls, nuls := 0, 0
	for _, b := range sample {
		switch {
		case b == 0:
			nuls++
		case b < 0x1c && (b < '\t' || b > '\r') || b == 0x7f:
			controls++
		}
	}
	return controls*50 > len(sample) || nuls*5 > len(sample)
}

// guessContent names what the bytes seem to be, as a clause for a sentence.
func guessContent(raw []byte) string {
	switch kind, _, _ := strings.Cut(http.DetectContentType(raw), ";"); kind {
	case "application/octet-stream", "text/plain":
		return ""
	case "application/zip":
		return " but a ZIP archive (a spreadsheet such as .xlsx is one: export it as CSV first)"
	default:
		return " (it looks like " + kind + ")"
	}
}
