//go:build race

package attack

// raced: the race detector makes everything slow. What is to be slow is there
// so many times smaller.
const (
	raced   = true
	smaller = 10
)
