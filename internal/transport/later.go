package transport

import "context"

// Later returns an endpoint for a run that begins when so many supersteps of runs before it are over: its superstep 0 is
// that superstep of the endpoint's.
func Later(e Endpoint, past int) Endpoint {
	if past == 0 {
		return e
	}
	return &later{e, past}
}

type later struct {
	Endpoint
	past int
}

func (l *later) Send(f *Frame) error {
	f.Superstep += l.past
	return l.Endpoint.Send(f)
}

func (l *later) Receive(ctx context.Context, kind Kind) (*Frame, error) {
	f, err := l.Endpoint.Receive(ctx, kind)
	if err == nil {
		f.Superstep -= l.past
	}
	return f, err
}

func (l *later) End(ctx context.Context, superstep int) (*Account, error) {
	a, err := l.Endpoint.End(ctx, superstep+l.past)
	if err == nil {
		a.Superstep = superstep
	}
	return a, err
}
