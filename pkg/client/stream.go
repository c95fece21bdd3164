package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// errCut means that a stream ended before the answer came.
var errCut = errors.New("the stream ended before the answer")

// readStream reads server-sent events until the answer, and hands what comes
// before it to notify.
func readStream(body io.Reader, notify func(string, json.RawMessage)) (response, error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxAnswer)
	var data bytes.Buffer
	for lines.Scan() {
		line := lines.Bytes()
		if value, is := bytes.CutPrefix(line, []byte("data:")); is {
			if data.Len() > 0 {
				data.WriteByte('\n')
			}
			data.Write(bytes.TrimPrefix(value, []byte(" ")))
			continue
		}
		if len(line) > 0 || data.Len() == 0 {
			continue // a comment, another field, or the end of an event without data
		}
		var r response
		err := json.Unmarshal(data.Bytes(), &r)
		data.Reset()
		switch {
		case err != nil:
			return response{}, &UnreachableError{Err: err}
		case r.Method == "":
			return r, nil
		case notify != nil:
			notify(r.Method, r.Params)
		}
	}
	if err := lines.Err(); err != nil {
		return response{}, &UnreachableError{Err: err}
	}
	return response{}, &UnreachableError{Err: errCut}
}
