package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Error is a JSON-RPC error that the server answered with.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage
	// Status is the HTTP status it came with.
	Status int

	retryAfter time.Duration
}

func (e *Error) Error() string { return e.Message }

// UnreachableError means that no answer of an MCP server was had.
type UnreachableError struct {
	Endpoint string
	// Status is the HTTP status of an answer that no MCP server gives; 0 if none
	// came, or it broke off.
	Status int
	Err    error

	retryAfter time.Duration
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no MCP server answers at %s: %v", e.Endpoint, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// FailedError means that the task failed with a JSON-RPC error.
type FailedError struct {
	TaskID  string
	Code    int
	Message string
	Data    json.RawMessage
}

func (e *FailedError) Error() string { return e.Message }

var (
	// ErrCancelled means that the task was cancelled.
	ErrCancelled = errors.New("the task was cancelled")
	// ErrUnknownTask means that the server has no such task of this caller: the id
	// is wrong, or the task has expired. The server's *Error is in the same chain.
	ErrUnknownTask = errors.New("unknown task")
)
