//go:build !invariants

package frontier

// invariants turns on checks whose cost grows with the number of hosts.
const invariants = false
