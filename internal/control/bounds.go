package control

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
)

// Bounds of what a request says.
const (
	// MaxName bounds the bytes of a name, a path, a reason or another text.
	MaxName = 4 << 10
	// MaxParameters bounds the bytes of all parameters of a job.
	MaxParameters = 64 << 10
)

// Bounded returns an error if a request has a text above MaxName, or maps above MaxParameters together.
// Texts of maps are bounded by the latter alone.
func Bounded(m proto.Message) error {
	maps := 0
	err := protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		last := p.Index(-1)
		text, _ := last.Value.Interface().(string)
		if last.Step.Kind() == protopath.MapIndexStep {
			maps += len(last.Step.MapIndex().String()) + len(text)
			return nil
		}
		if len(text) > MaxName {
			return fmt.Errorf("found %d bytes in %v, expected at most %d", len(text), p.Path[1:], MaxName)
		}
		return nil
	})
	if err == nil && maps > MaxParameters {
		err = fmt.Errorf("found parameters of %d bytes, expected at most %d", maps, MaxParameters)
	}
	if err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	return nil
}

// door refuses requests that are not bounded, before a handler has them.
type door struct{}

func (door) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		if err := admit(r.Any()); err != nil {
			return nil, err
		}
		return next(ctx, r)
	}
}

func (door) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (door) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, c connect.StreamingHandlerConn) error {
		return next(ctx, &admittedConn{c})
	}
}

type admittedConn struct{ connect.StreamingHandlerConn }

func (c *admittedConn) Receive(m any) error {
	if err := c.StreamingHandlerConn.Receive(m); err != nil {
		return err
	}
	return admit(m)
}

// admit is Bounded for any request but that for vertices, whose names are as long as those of the
// graph: it is answered and forgotten.
func admit(m any) error {
	switch m := m.(type) {
	case *ListVerticesRequest:
		return nil
	case proto.Message:
		return Bounded(m)
	}
	return nil
}
