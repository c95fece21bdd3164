package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// errCut means that a stream ended before the answer came.
var errCut = errors.New("the stream ended before the answer")

// mark is where a stream is, for a server that lets it go on later.
type mark struct {
	event string        // the last event's id; "" if it had none
	pause time.Duration // how long the server wants to be left alone before
}

// readStream reads server-sent events until the answer, hands the messages before
// it to hear, and keeps at where the stream is.
func readStream(body io.Reader, id int64, at *mark, hear func(message)) (message, error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxAnswer)
	lines.Split(scanLines)
	var data bytes.Buffer
	event := at.event
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) > 0 {
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(name) {
			case "data":
				if data.Len() > 0 {
					data.WriteByte('\n')
				}
				if data.Write(value); data.Len() > maxAnswer {
					return message{}, errTooLarge
				}
			case "id":
				event = string(value)
			case "retry":
				if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
					at.pause = time.Duration(ms) * time.Millisecond
				}
			}
			continue // or a comment, or another field
		}
		at.event = event
		if data.Len() == 0 {
			continue // an event without data
		}
		var m message
		if err := json.Unmarshal(data.Bytes(), &m); err != nil {
			return message{}, fmt.Errorf("an event that is not JSON: %w", err)
		}
		data.Reset()
		switch {
		case m.Method != "":
			hear(m)
		case m.answers(id):
			return m, nil
		default:
			return message{}, errors.New("an event that answers another request")
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
