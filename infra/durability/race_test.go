//go:build race

package durability

// raced: the race detector makes every process slow to start.
const raced = true
