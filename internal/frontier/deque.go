package frontier

import "slices"

// deque is a double-ended queue. An empty one holds no memory: most hosts rest most of the time.
type deque[T any] struct {
	buf  []T
	head int
}

func (q *deque[T]) len() int { return len(q.buf) - q.head }

func (q *deque[T]) front() *T { return &q.buf[q.head] }

func (q *deque[T]) pushBack(v T) {
	if len(q.buf) == cap(q.buf) && q.head > len(q.buf)/2 { // rarely enough that copying costs O(1) per value
		n := copy(q.buf, q.buf[q.head:])
		clear(q.buf[n:])
		q.buf, q.head = q.buf[:n], 0
	}
	q.buf = append(q.buf, v)
}

func (q *deque[T]) pushFront(v T) {
	if q.head == 0 {
		q.buf = slices.Insert(q.buf, 0, v)
		return
	}
	q.head--
	q.buf[q.head] = v
}

func (q *deque[T]) popFront() T {
	var zero T
	v := q.buf[q.head]
	q.buf[q.head] = zero
	if q.head++; q.head == len(q.buf) {
		*q = deque[T]{}
	}
	return v
}
