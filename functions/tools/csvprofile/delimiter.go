package csvprofile

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// sampleSize is how much of a file its form is judged by, in bytes.
const sampleSize = 64 << 10

// delimiters are those that are detected. Where two fit equally well, the first
// does: a comma stands in more texts and numbers than the others.
var delimiters = []rune{'\t', ';', '|', ','}

// validDelimiter reports whether encoding/csv accepts the delimiter.
func validDelimiter(r rune) bool {
	return r != 0 && r != '"' && r != '\r' && r != '\n' && r != utf8.RuneError && utf8.ValidRune(r)
}

// detectDelimiter returns the delimiter that splits most records of the text's
// beginning into the same number of fields, more than one. A comma if none does.
func detectDelimiter(text []byte) rune {
	sample := text
	if len(sample) > sampleSize {
		sample = sample[:sampleSize]
		if i := bytes.LastIndexAny(sample, "\r\n"); i > 0 {
			sample = sample[:i]
		}
	}
	best, bestShare := ',', 0.0
	for _, d := range delimiters {
		if share := agreement(sample, d); share > bestShare {
			best, bestShare = d, share
		}
	}
	return best
}

// agreement is the share of records that are well quoted and have the number of
// fields that most have, or 0 if that is one.
func agreement(sample []byte, delimiter rune) float64 {
	r := newReader(sample, 1, delimiter)
	records, widths := 0, map[int]int{}
	for {
		rec, err := r.next()
		if err != nil {
			break
		}
		records++
		if !rec.misquoted {
			widths[len(rec.fields)]++
		}
	}
	width, most := 0, 0
	for w, n := range widths {
		if n > most || n == most && w > width {
			width, most = w, n
		}
	}
	if width < 2 {
		return 0
	}
	return float64(most) / float64(records)
}

// separatorLine reads the line "sep=;" that some spreadsheets write first. It
// returns the delimiter and the length of the line with its end, or 0, 0.
func separatorLine(text []byte) (rune, int) {
	line := text
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		line = text[:i]
	}
	value, found := strings.CutPrefix(strings.Trim(string(line[:min(len(line), 16)]), `"`), "sep=")
	r, n := utf8.DecodeRuneInString(value)
	if !found || n != len(value) || !validDelimiter(r) {
		return 0, 0
	}
	length := len(line)
	switch lineEnd(text[length:]) {
	case endCRLF:
		length += 2
	case endLF, endCR:
		length++
	}
	return r, length
}
