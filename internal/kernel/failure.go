package kernel

// Failure is the panic value of pregel.Coordinator.Fail. It has the error of a program that is not
// defective, so reports omit the stack.
type Failure struct{ Err error }

// WrongSender is the panic value for a vertex that sent another id than its own with
// combiners.Sender.
type WrongSender struct{ Vertex uint64 }

func (WrongSender) Error() string {
	return "SendToAllNeighbors: under combiners.Sender and MinPlusSender the message must name the vertex itself, v.ID()"
}
