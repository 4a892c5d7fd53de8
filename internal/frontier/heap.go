package frontier

import "time"

// timeHeap is a binary heap of values by time, earliest first. A value is in it at most once and knows its
// place, so that it can be moved and removed.
type timeHeap[T interface{ slot() *int }] []timed[T]

type timed[T any] struct {
	at time.Time
	v  T
}

// set puts v into the heap, or moves it there.
func (h *timeHeap[T]) set(v T, at time.Time) {
	if i := *v.slot(); i > 0 { // slots count from 1, so that zero means absent
		(*h)[i-1].at = at
		h.fix(i - 1)
		return
	}
	*h = append(*h, timed[T]{at, v})
	*v.slot() = len(*h)
	h.up(len(*h) - 1)
}

// remove takes v out of the heap if it is there.
func (h *timeHeap[T]) remove(v T) {
	i := *v.slot() - 1
	if i < 0 {
		return
	}
	last := len(*h) - 1
	h.swap(i, last)
	(*h)[last] = timed[T]{}
	*h = (*h)[:last]
	*v.slot() = 0
	if i < last {
		h.fix(i)
	}
}

// pop takes out the root if its time has come.
func (h *timeHeap[T]) pop(now time.Time) (v T, ok bool) {
	if len(*h) == 0 || (*h)[0].at.After(now) {
		return v, false
	}
	v = (*h)[0].v
	h.remove(v)
	return v, true
}

func (h timeHeap[T]) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h timeHeap[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].at.Before(h[parent].at) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h timeHeap[T]) down(i int) (moved bool) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return moved
		}
		if child+1 < len(h) && h[child+1].at.Before(h[child].at) {
			child++
		}
		if !h[child].at.Before(h[i].at) {
			return moved
		}
		h.swap(i, child)
		i, moved = child, true
	}
}

func (h timeHeap[T]) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	*h[i].v.slot(), *h[j].v.slot() = i+1, j+1
}
