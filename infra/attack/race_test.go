//go:build race

package attack

// raced: the race detector makes everything slow.
const raced = true
