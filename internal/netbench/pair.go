package netbench

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"io"
	"net"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
)

// connectTimeout bounds the time to make the raw connection.
const connectTimeout = 5 * time.Second

// connect makes the raw connection, without any protocol, to compare the link with. The last rank
// listens at Raw, and tells rank 0 its address. connect returns the reason if there is no
// connection, the same on all ranks.
func (b *bench) connect(ctx context.Context) (why string, err error) {
	link := b.g.Link()
	if b.none = b.Raw == "" || link.Size() == 1; b.none {
		return "", nil
	}
	last := link.Size() - 1
	switch link.Rank() {
	case last:
		why, err = b.listen(ctx)
	case 0:
		why, err = b.dial(ctx, last)
	}
	if err == nil {
		why, err = b.firstReason(ctx, why)
	}
	if b.none = why != ""; b.none || err != nil {
		b.disconnect()
	}
	return why, err
}

// secretSize is the length of a secret that the last rank sends to rank 0 by the link. Rank 0 sends
// it first on the raw connection, so that no other process is taken for it.
const secretSize = 16

// dial is rank 0's part of connect.
func (b *bench) dial(ctx context.Context, last int) (why string, err error) {
	told, err := b.g.Link().Receive(ctx, last, tag)
	if err != nil || len(told) < secretSize {
		return "", err // the last rank returns the reason
	}
	d := net.Dialer{Timeout: connectTimeout}
	if b.raw, err = d.DialContext(ctx, "tcp", string(told[secretSize:])); err != nil {
		return err.Error(), nil
	}
	_ = b.raw.SetDeadline(time.Now().Add(connectTimeout)) // on failure the write fails
	if _, err := b.raw.Write(told[:secretSize]); err != nil {
		return err.Error(), nil
	}
	_ = b.raw.SetDeadline(time.Time{})
	return "", nil
}

// listen is the last rank's part of connect.
func (b *bench) listen(ctx context.Context) (why string, err error) {
	link := b.g.Link()
	l, refused := net.Listen("tcp", b.Raw)
	if refused != nil {
		return refused.Error(), link.Send(ctx, 0, tag, nil)
	}
	defer l.Close()
	end := time.Now().Add(connectTimeout)
	_ = l.(*net.TCPListener).SetDeadline(end)
	secret := make([]byte, secretSize)
	rand.Read(secret) // never fails
	if err := link.Send(ctx, 0, tag, append(secret, l.Addr().String()...)); err != nil {
		return "", err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err.Error(), nil
		}
		_ = c.SetDeadline(end)
		said := make([]byte, secretSize)
		if _, err := io.ReadFull(c, said); err == nil && hmac.Equal(said, secret) {
			b.raw = c
			return "", c.SetDeadline(time.Time{})
		}
		c.Close() // not rank 0
	}
}

// firstReason returns the first reason of any rank, by rank.
func (b *bench) firstReason(ctx context.Context, why string) (string, error) {
	all, err := b.g.Allgather(ctx,
		collective.Call{Tag: tag, Algorithm: collective.Bruck}, []byte(why))
	if err != nil {
		return "", err
	}
	for _, reason := range all {
		if len(reason) > 0 {
			return string(reason), nil
		}
	}
	return "", nil
}

func (b *bench) disconnect() {
	if b.raw != nil {
		b.raw.Close()
		b.raw = nil
	}
}

// train returns the number of messages of n bytes in a stream: enough to fill a link with a long
// delay, but not too many bytes.
func train(n int) int { return min(max((32<<20)/max(n, 1), 4), 64) }

// rallies returns the number of round trips of a message of n bytes in one measurement. In the
// first one a rank may have to be woken, which would dominate the time of small messages.
func rallies(n int) int { return min(max((256<<10)/max(n, 1), 1), 10) }

// pair returns the function to measure for rank 0 and the last rank. Other ranks do nothing.
func (b *bench) pair(ctx context.Context, t task, data []byte) func() error {
	rounds, k, answer := rallies(t.bytes), 1, data
	if t.collective == Stream {
		rounds, k, answer = 1, train(t.bytes), data[:min(len(data), 1)]
	}
	send, receive := b.sender(ctx, t.algorithm)
	switch link := b.g.Link(); link.Rank() {
	case 0:
		return times(rounds, func() error {
			if err := times(k, func() error { return send(link.Size()-1, data) })(); err != nil {
				return err
			}
			return receive(link.Size()-1, len(answer))
		})
	case link.Size() - 1:
		return times(rounds, func() error {
			if err := times(k, func() error { return receive(0, len(data)) })(); err != nil {
				return err
			}
			return send(0, answer)
		})
	}
	return func() error { return nil }
}

// times returns a function that calls do k times, or until it fails.
func times(k int, do func() error) func() error {
	return func() error {
		for range k {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
}

// sender returns functions that send and receive a message.
func (b *bench) sender(
	ctx context.Context, a collective.Algorithm,
) (send func(to int, data []byte) error, receive func(from, n int) error) {
	link := b.g.Link()
	if a == Direct {
		return func(to int, data []byte) error { return link.Send(ctx, to, tag, data) },
			func(from, _ int) error {
				data, err := link.Receive(ctx, from, tag)
				collective.Release(link, data)
				return err
			}
	}
	return func(to int, data []byte) error {
			defer b.bound(ctx)()
			_, err := b.raw.Write(data)
			return because(ctx, to, err)
		}, func(from, n int) error {
			defer b.bound(ctx)()
			b.bytes = slices.Grow(b.bytes[:0], n)[:n]
			_, err := io.ReadFull(b.raw, b.bytes)
			return because(ctx, from, err)
		}
}

// bound makes reads and writes on the raw connection fail when ctx ends, until the returned
// function is called.
func (b *bench) bound(ctx context.Context) func() {
	raw := b.raw
	// the connection may be closed already
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Now()) })
	return func() { stop() }
}

// RawError means that the raw connection broke, usually because the process at its other end
// exited.
type RawError struct {
	Rank int // the rank at the other end
	Err  error
}

func (e *RawError) Error() string { return "raw connection: " + e.Err.Error() }

// Unwrap returns the error of the read or write.
func (e *RawError) Unwrap() error { return e.Err }

func because(ctx context.Context, to int, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &RawError{Rank: to, Err: err}
}
