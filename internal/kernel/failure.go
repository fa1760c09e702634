package kernel

// Failure is what pregel.Coordinator.Fail panics with: the error of a program that is not at fault,
// so that nobody wants its stack.
type Failure struct{ Err error }

// WrongSender is the panic of a vertex that sent another id than its own under combiners.Sender.
type WrongSender struct{ Vertex uint64 }

func (WrongSender) Error() string {
	return "SendToAllNeighbors: under combiners.Sender and MinPlusSender the message must name the vertex itself, v.ID()"
}
