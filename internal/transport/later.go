package transport

import "context"

// Later returns an endpoint for a run that begins after past supersteps of earlier runs on the same
// endpoint. Superstep 0 of the run is superstep past of the endpoint.
func Later(e Endpoint, past int) Endpoint {
	if past == 0 {
		return e
	}
	return &later{e, past}
}

// Near returns an endpoint to which no partition is distant, so nothing is sent ahead. It is for
// consecutive runs on the same connections: a frame sent ahead in the last superstep of one run
// would be received in the first superstep of the next.
func Near(e Endpoint) Endpoint { return near{e} }

type near struct{ Endpoint }

func (near) Distant(int) bool { return false }

// later does not embed the endpoint, because each method has a superstep, or may get one.
type later struct {
	end  Endpoint
	past int
}

func (l *later) Flush(ctx context.Context) error { return l.end.Flush(ctx) }

func (l *later) Release(f *Frame) { l.end.Release(f) }

func (l *later) Poll(kind Kind) (*Frame, error) { return l.earlier(l.end.Poll(kind)) }

func (l *later) Receive(ctx context.Context, kind Kind) (*Frame, error) {
	return l.earlier(l.end.Receive(ctx, kind))
}

func (l *later) earlier(f *Frame, err error) (*Frame, error) {
	if f != nil {
		f.Superstep -= l.past
	}
	return f, err
}

func (l *later) Send(f *Frame) error {
	f.Superstep += l.past
	return l.end.Send(f)
}

func (l *later) Distant(partition int) bool { return l.end.Distant(partition) }

func (l *later) SendAhead(f *Frame) (bool, error) {
	f.Superstep += l.past
	return l.end.SendAhead(f)
}

func (l *later) Claim(f *Frame) { l.end.Claim(f) }

func (l *later) End(ctx context.Context, superstep int) (*Account, error) {
	a, err := l.end.End(ctx, superstep+l.past)
	if err == nil {
		a.Superstep = superstep
	}
	return a, err
}
