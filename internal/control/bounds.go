package control

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"

	"github.com/superstep-go/superstep/internal/job"
)

// MaxName bounds the bytes of a name, a path, a reason or another text of a request.
const MaxName = job.MaxText

// Bounded returns an error if a request has a text longer than MaxName. Package job bounds
// descriptions.
func Bounded(m proto.Message) error {
	err := protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		last := p.Index(-1)
		text, _ := last.Value.Interface().(string)
		if last.Step.Kind() == protopath.FieldAccessStep &&
			strings.HasSuffix(string(last.Step.FieldDescriptor().Name()), description) {
			if len(text) > MaxSpec {
				return fmt.Errorf("found a description of %d bytes, expected at most %d",
					len(text), MaxSpec)
			}
			return nil
		}
		if len(text) > MaxName {
			return fmt.Errorf("found %d bytes in %v, expected at most %d", len(text),
				p.Path[1:], MaxName)
		}
		return nil
	})
	if err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	return nil
}

// description ends the names of fields that contain a description as JSON.
const description = "_json"

// door rejects requests that exceed the bounds before they reach a handler.
type door struct{ connect.UnaryInterceptorFunc } // for handlers only

func (door) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		if err := admit(r.Any()); err != nil {
			return nil, err
		}
		return next(ctx, r)
	}
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

// admit is Bounded for all requests except ListVertices, whose names may be as long as those of the
// graph, because they are not stored.
func admit(m any) error {
	if _, names := m.(*ListVerticesRequest); names {
		return nil
	}
	return Bounded(m.(proto.Message))
}
