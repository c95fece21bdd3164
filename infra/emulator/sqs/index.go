package sqs

import "container/heap"

// index keeps messages in an order, each of which can leave it from anywhere.
// A message is in two at a time: where its visibility puts it, and by age.
type index struct {
	slot   int // which of the message's positions is this index's
	before func(a, b *message) bool
	items  []*message
}

const (
	bySight = iota
	byAge
	slots
)

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (x *index) Len() int           { return len(x.items) }
func (x *index) Less(i, j int) bool { return x.before(x.items[i], x.items[j]) }

func (x *index) Swap(i, j int) {
	x.items[i], x.items[j] = x.items[j], x.items[i]
	x.items[i].position[x.slot], x.items[j].position[x.slot] = i, j
}

func (x *index) Push(m any) {
	m.(*message).position[x.slot] = len(x.items)
	x.items = append(x.items, m.(*message))
}

func (x *index) Pop() any {
	end := len(x.items) - 1
	m := x.items[end]
	x.items[end] = nil
	x.items = x.items[:end]
	return m
}

func (x *index) add(m *message)    { heap.Push(x, m) }
func (x *index) remove(m *message) { heap.Remove(x, m.position[x.slot]) }

// first is the message that comes first, or nil.
func (x *index) first() *message {
	if len(x.items) == 0 {
		return nil
	}
	return x.items[0]
}

func soonest(a, b *message) bool {
	if !a.VisibleAt.Equal(b.VisibleAt) {
		return a.VisibleAt.Before(b.VisibleAt)
	}
	return a.Sequence < b.Sequence
}

func shuffled(a, b *message) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return soonest(a, b)
}

func oldest(a, b *message) bool { return a.Sent.Before(b.Sent) }
