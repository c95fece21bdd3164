//go:build !race

package attack

const (
	raced   = false
	smaller = 1
)
