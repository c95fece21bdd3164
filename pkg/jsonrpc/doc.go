// Package jsonrpc is the envelope of every message: JSON-RPC 2.0, one message
// at a time, and Batch for clients that may send several.
//
// Parse is strict about JSON (no duplicate names, no lone surrogates, no number
// that a float64 can't hold, bounded nesting) and kind about the answer: where
// the id can still be read from a bad message, it comes back with the error.
// Ids stay raw JSON, so that they are echoed exactly as they came.
package jsonrpc
