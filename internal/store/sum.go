package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is the length and the CRC-32C of an object. The writer of an object also writes the bytes to
// a Sum, and stores the Sum elsewhere.
type Sum struct {
	Bytes  int64  `json:"bytes"`
	CRC32C uint32 `json:"crc32c"`
}

// SumOf returns the Sum of bytes.
func SumOf(data []byte) (s Sum) {
	_, _ = s.Write(data)
	return s
}

// Read returns an object. It returns ErrDamaged if the object does not have the Sum.
func Read(ctx context.Context, s Store, name string, want Sum) ([]byte, error) {
	o, err := Stat(ctx, s, name)
	if err != nil {
		return nil, err
	}
	if o.Size != want.Bytes {
		return nil, want.Damage(NameOf(s, name), Sum{Bytes: o.Size})
	}
	data, err := Fetch(ctx, s, o, want.Bytes)
	if err != nil {
		return nil, err
	}
	return data, want.Damage(NameOf(s, name), SumOf(data))
}

// Write adds bytes to the Sum. It never fails.
func (s *Sum) Write(p []byte) (int, error) {
	s.Bytes += int64(len(p))
	s.CRC32C = crc32.Update(s.CRC32C, castagnoli, p)
	return len(p), nil
}

// ErrDamaged means that an object has changed since it was written.
var ErrDamaged = errors.New("it is damaged")

// Check returns a reader of an object. At the end it returns ErrDamaged, with the object's name,
// instead of io.EOF, if the bytes do not have the Sum.
func (s Sum) Check(name string, from io.Reader) io.Reader {
	return &checkedReader{name: name, from: from, want: s}
}

type checkedReader struct {
	name      string
	from      io.Reader
	want, got Sum
}

func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	_, _ = c.got.Write(p[:n])
	if c.got.Bytes > c.want.Bytes || errors.Is(err, io.EOF) && c.got != c.want {
		return 0, c.want.Damage(c.name, c.got)
	}
	return n, err
}

// Damage returns the error for an object with another Sum or length, or nil.
func (s Sum) Damage(name string, found Sum) error {
	switch {
	case found.Bytes != s.Bytes:
		return fmt.Errorf("%s: found %d bytes, expected %d: %w", name, found.Bytes, s.Bytes,
			ErrDamaged)
	case found != s:
		return fmt.Errorf("%s: found CRC-32C %08x, expected %08x: %w",
			name, found.CRC32C, s.CRC32C, ErrDamaged)
	}
	return nil
}

// Missing returns the error for a missing object.
func Missing(name string) error { return fmt.Errorf("%s: it is missing: %w", name, ErrDamaged) }

// sealField is the last field of a sealed JSON object.
const sealField = `,"crc32c":"`

// Seal appends a last field to a JSON object: the CRC-32C of all bytes before, in hexadecimal
// digits.
func Seal(object []byte) []byte {
	text := bytes.TrimSuffix(object, []byte("}"))
	return fmt.Appendf(bytes.Clone(text), `%s%08x"}`, sealField, crc32.Checksum(text, castagnoli))
}

// Unseal returns ErrDamaged if an object was changed after Seal.
func Unseal(sealed []byte) error {
	at := bytes.LastIndex(sealed, []byte(sealField))
	said, ended := bytes.CutSuffix(sealed[at+1:], []byte(`"}`))
	if at < 0 || !ended {
		return fmt.Errorf("it is empty, or cut off after %d bytes: it does not end with its checksum: %w", len(sealed), ErrDamaged)
	}
	found := fmt.Sprintf("%08x", crc32.Checksum(sealed[:at], castagnoli))
	if said = bytes.TrimPrefix(said, []byte(sealField[1:])); string(said) != found {
		return fmt.Errorf("found CRC-32C %s, expected %.40q: %w", found, said, ErrDamaged)
	}
	return nil
}

// Encode returns a value as a sealed JSON object.
func Encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	return Seal(data), err
}

// ErrOld means that an object has a format that is no longer supported.
var ErrOld = errors.New("an earlier version of superstep wrote it: use that version")

// Decode decodes the result of Encode. It returns ErrOld for data from before Encode existed, and
// ErrDamaged for anything else.
func Decode(sealed []byte, v any) error {
	err := Unseal(sealed)
	if err == nil {
		return json.Unmarshal(sealed, v)
	}
	var old struct{ SHA256 string }
	if json.Unmarshal(sealed, &old) == nil && old.SHA256 != "" {
		return ErrOld
	}
	return err
}
