package main

import (
	"io"
	"os"
	"sync"
)

// keyboard is a terminal's input, for one form after the other. Forms do not read
// the terminal themselves: the library's reader can outlive its form, and then
// takes a key of the next one.
type keyboard struct {
	file   *os.File
	listen sync.Once
	keys   chan []byte
}

// turn is the keyboard until end. It is a file to who wants to set the terminal's
// mode, and has no name: that keeps the library from waiting for the file itself.
func (k *keyboard) turn() *turn {
	k.listen.Do(func() {
		k.keys = make(chan []byte)
		go func() {
			defer close(k.keys)
			for {
				piece := make([]byte, 256)
				n, err := k.file.Read(piece)
				if err != nil {
					return
				}
				k.keys <- piece[:n]
			}
		}()
	})
	return &turn{keyboard: k, over: make(chan struct{})}
}

type turn struct {
	keyboard *keyboard
	over     chan struct{}
	rest     []byte
}

// Read implements io.Reader. It ends with the turn.
func (t *turn) Read(b []byte) (int, error) {
	if len(t.rest) == 0 {
		select {
		case <-t.over:
			return 0, io.EOF
		case keys, more := <-t.keyboard.keys:
			if !more {
				return 0, io.EOF
			}
			t.rest = keys
		}
	}
	n := copy(b, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

func (t *turn) Write(b []byte) (int, error) { return t.keyboard.file.Write(b) }
func (t *turn) Fd() uintptr                 { return t.keyboard.file.Fd() }

// Close does nothing: the file is others' too.
func (t *turn) Close() error { return nil }

func (t *turn) end() { close(t.over) }
