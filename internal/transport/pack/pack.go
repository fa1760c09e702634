// Package pack encodes messages with pointers (strings, slices, maps) with msgpack. It checks bytes
// before it decodes them, because five bytes can make a msgpack decoder ask for 16 GB. Messages
// without pointers are sent as they are in memory, without this package. Read pack.go first, then
// guard.go.
package pack

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/superstep-go/superstep/internal/transport"
)

// expansion is the greatest number of bytes of memory per byte of msgpack: a nil of one byte can be
// a large struct. Zero structs of eight slices reach 24.
const expansion = 32

// Messages is a transport.Codec for frames whose Ref is a slice of one type. Make it with New.
type Messages struct {
	slice reflect.Type
	size  int // bytes of an element; 0 if any number of elements must be accepted
}

// New returns a codec for slices of t. It returns an error for types that msgpack would not encode
// completely: with unexported fields, channels, functions or interfaces, unless they encode
// themselves.
func New(t reflect.Type) (*Messages, error) {
	if err := Carried(t); err != nil {
		return nil, fmt.Errorf("messages of type %v cannot be encoded: %w", t, err)
	}
	return &Messages{slice: reflect.SliceOf(t), size: int(t.Size())}, nil
}

// Append appends the encoding of f.Ref, a slice of f.Count messages.
func (c *Messages) Append(b []byte, f *transport.Frame) ([]byte, error) {
	messages := reflect.ValueOf(f.Ref)
	if f.Ref == nil || messages.Type() != c.slice || messages.Len() != f.Count {
		return b, fmt.Errorf("found a frame of %d messages with a %T, expected a %v of as many",
			f.Count, f.Ref, c.slice)
	}
	to := bytes.NewBuffer(b)
	e := encoder(to)
	defer msgpack.PutEncoder(e)
	err := e.EncodeArrayLen(f.Count)
	for i := 0; i < f.Count && err == nil; i++ {
		err = e.Encode(messages.Index(i).Addr().Interface())
	}
	return to.Bytes(), err
}

// encoder returns an encoder from msgpack's pool, to which the caller puts it back.
func encoder(to *bytes.Buffer) *msgpack.Encoder {
	e := msgpack.GetEncoder()
	e.Reset(to)
	e.UseArrayEncodedStructs(true)
	e.UseCompactInts(true)
	return e
}

// Decode sets f.Ref to the slice of f.Count messages that b encodes.
func (c *Messages) Decode(b []byte, f *transport.Frame) error {
	if err := Check(b); err != nil {
		return err
	}
	if c.size > 0 && f.Count > (len(b)*expansion+4096)/c.size {
		return fmt.Errorf("%w: %d messages of %d bytes in %d", ErrHostile, f.Count, c.size, len(b))
	}
	d := msgpack.GetDecoder()
	d.Reset(bytes.NewReader(b))
	n, err := d.DecodeArrayLen()
	if err != nil {
		return err
	}
	if n != f.Count {
		return fmt.Errorf("%w: found %d messages, expected %d", ErrHostile, n, f.Count)
	}
	messages := reflect.MakeSlice(c.slice, n, n)
	for i := range n {
		if err := d.Decode(messages.Index(i).Addr().Interface()); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	msgpack.PutDecoder(d) // after an error it may record what it reads for ever
	f.Ref = messages.Interface()
	return nil
}

var (
	selfEncoding = []reflect.Type{
		reflect.TypeFor[msgpack.CustomEncoder](), reflect.TypeFor[msgpack.Marshaler](),
		reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
	}
	timeType = reflect.TypeFor[time.Time]()
)

// Value encodes the value that a pointer points to.
func Value(pointer any) ([]byte, error) {
	var to bytes.Buffer
	e := encoder(&to)
	defer msgpack.PutEncoder(e)
	err := e.Encode(pointer)
	return to.Bytes(), err
}

// IntoValue decodes into the variable that a pointer points to, which must have its zero value. b
// may be any bytes.
func IntoValue(b []byte, pointer any) error {
	if err := Check(b); err != nil {
		return err
	}
	return msgpack.NewDecoder(bytes.NewReader(b)).Decode(pointer)
}

// Carried returns an error if values of a type would lose data between processes.
func Carried(t reflect.Type) error { return carried(t, map[reflect.Type]bool{}) }

// carried is Carried; seen has the types that are being checked.
func carried(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] || encodesItself(t) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer, reflect.Complex64,
		reflect.Complex128:
		return fmt.Errorf("%v is not encoded", t)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return carried(t.Elem(), seen)
	case reflect.Map:
		if err := carried(t.Key(), seen); err != nil {
			return err
		}
		return carried(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				return fmt.Errorf("field %s of %v is not exported", f.Name, t)
			}
			if f.Tag.Get("msgpack") == "-" {
				return fmt.Errorf("field %s of %v is left out", f.Name, t)
			}
			if err := carried(f.Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}
