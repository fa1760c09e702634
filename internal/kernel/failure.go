package kernel

// Failure is what pregel.Coordinator.Fail panics with: the error of a program that is not at fault, so that nobody wants its stack.
type Failure struct{ Err error }
