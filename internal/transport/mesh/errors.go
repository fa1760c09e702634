package mesh

import "fmt"

// UnreachableError means that a worker could not connect to another.
type UnreachableError struct {
	From, To string
	Err      error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("connecting worker %s to worker %s: %v", e.From, e.To, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// BrokenError means that the connection between two workers broke.
type BrokenError struct {
	From, To string
	Err      error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the connection from worker %s to worker %s broke: %v", e.From, e.To, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }
