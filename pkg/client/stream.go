package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errCut means that a stream ended before the answer came.
var errCut = errors.New("the stream ended before the answer")

// readStream reads server-sent events until the answer, and hands the
// notifications before it to notify, which may be nil.
func readStream(body io.Reader, id int64, notify func(string, json.RawMessage)) (message, error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxAnswer)
	lines.Split(scanLines)
	var data bytes.Buffer
	for lines.Scan() {
		line := lines.Bytes()
		if value, is := bytes.CutPrefix(line, []byte("data:")); is {
			if data.Len() > 0 {
				data.WriteByte('\n')
			}
			if data.Write(bytes.TrimPrefix(value, []byte(" "))); data.Len() > maxAnswer {
				return message{}, errTooLarge
			}
			continue
		}
		if len(line) > 0 || data.Len() == 0 {
			continue // a comment, another field, or the end of an event without data
		}
		var m message
		if err := json.Unmarshal(data.Bytes(), &m); err != nil {
			return message{}, fmt.Errorf("an event that is not JSON: %w", err)
		}
		data.Reset()
		switch {
		case m.Method == "" && m.answers(id):
			return m, nil
		case m.Method == "":
			return message{}, errors.New("an event that answers another request")
		case notify != nil:
			notify(m.Method, m.Params)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return message{}, errTooLarge
	case err != nil:
		return message{}, &brokenError{err}
	}
	return message{}, &brokenError{errCut}
}

// scanLines splits at CR LF, LF or CR, as event streams do.
func scanLines(data []byte, atEOF bool) (int, []byte, error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF:
		return len(data), nil, nil // an event without its end does not count
	case i < 0:
		return 0, nil, nil
	case data[i] == '\n':
		return i + 1, data[:i], nil
	case i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	case i+1 == len(data) && !atEOF:
		return 0, nil, nil // a LF may follow
	}
	return i + 1, data[:i], nil
}
