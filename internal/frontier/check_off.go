//go:build !invariants

package frontier

// check verifies the invariants of the scheduler when the build tag invariants is set.
func (s *scheduler) check() {}

// check verifies the invariants of the step side when the build tag invariants is set.
func (st *step) check() {}
