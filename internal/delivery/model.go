package delivery

// Load is what a superstep has to deliver, and to whom.
type Load struct {
	Vertices, Arcs, Partitions, Threads int
	Senders, SenderEdges                int
	Unfinished, UnfinishedEdges, Active int
	AnyOne, Terminal                    bool
	Bytes                               int
}

// Policy decides how each superstep is delivered.
type Policy struct {
	Force Choice
}

// Choose returns the scheme for a load.
func (p *Policy) Choose(l *Load) Scheme {
	switch p.Force {
	case ChoosePush, ChooseNaive:
		return Naive
	case ChooseMirrored:
		return Mirrored
	case ChoosePull:
		return Pull
	}
	if l.AnyOne {
		if l.SenderEdges > l.Arcs/30 || l.Senders > l.Vertices/24 {
			return Pull
		}
		return Naive
	}
	if l.SenderEdges > l.Arcs/4 {
		return Pull
	}
	return Naive
}

// Learn tells the policy what a superstep took.
func (p *Policy) Learn(*Load, Scheme, float64) {}
