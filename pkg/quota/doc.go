// Package quota bounds what one caller may make: tasks in a minute, and tasks
// that are open (not terminal) at once. Both are off unless a limit is set. In a
// deployment without authentication all callers are one, and share one quota.
//
// It promises, whatever dies at whatever moment and however slow anything is:
//
//   - No caller has more open tasks than it may. A caller has as many numbered
//     slots; a task is put only by whoever holds one. A slot is given up only if its
//     task is terminal, has expired, or can't be put any more.
//   - No slot is lost for longer than limits.CreationTime by a creation that died
//     before its task was put. One that died between put and send leaves an open
//     task that nobody knows of: that holds its slot until it expires, as any other.
//   - No caller makes more tasks than it may in a minute of the clock. A creation
//     that fails, also for want of a slot, counts as one: what is counted is never
//     taken back, so that a lost reply can't take it back twice. Two minutes that
//     follow each other have a quota each.
//
// A task that ends writes nothing for its quota. Its slot is found by the next
// creation that misses: one that finds two slots taken, picked at random, looks at
// all of them and at their tasks, and frees those of tasks that are over.
//
// # What it costs
//
// With a limit of creations, each takes one write more, and one that is refused
// that one alone. With a limit of open tasks, each takes one write more for its slot. About
// one in thirty of a hundred slots looks at the others: in all, a creation takes two
// writes and a read unit, the freeing of its slot included, and 0.2 writes for
// slots that were taken. One that is refused takes the two writes, and a read unit
// for each open task: set both limits, then a caller can't spend more than that a
// minute. A creation with an idempotency key takes a read more, since one that
// repeats an earlier one takes no quota.
//
// # How a late creation is kept out
//
// Whoever reserved a slot may be stopped before it puts its task, and go on an hour
// later. Before its slot is given away, its task's id is taken by an item that is
// expired from the start, a millisecond after the reservation. The late put comes
// with the time of its reservation, at which that item lives, and finds the id
// taken; anybody who comes later finds it expired, which is to say free. For this, no
// clock is compared with another.
//
// A lower limit leaves alone what is open: tasks in slots beyond it are not counted
// with the others, and nothing takes their slots when they end.
package quota
