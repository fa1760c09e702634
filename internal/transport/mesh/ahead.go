package mesh

import (
	"fmt"
	"net"

	"github.com/superstep-go/superstep/internal/transport"
)

// isMemory reports whether this machine's processors copy a connection's data from the writer to
// the reader. Then sending ahead gains nothing while they have other work. A connection that is
// neither TCP nor a Unix socket is one that a Dialer has slowed down.
func isMemory(c net.Conn) bool {
	c = bare(c)
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
		return isLocal(c)
	}
	return false
}

// Distant reports whether a partition belongs to a worker behind a network.
func (p *Port) Distant(partition int) bool {
	s := p.session
	return !p.near && s.ports[partition] == nil && !s.outs[s.layout.Owner[partition]].memory
}

// SendAhead sends a frame of the next superstep to a distant partition, unless too many frames are
// waiting. The frame's buffers must not change until End of that superstep returns.
func (p *Port) SendAhead(f *transport.Frame) (bool, error) {
	s := p.session
	if f.To < 0 || f.To >= len(s.ports) || s.ports[f.To] != nil || f.Ref != nil {
		return false, fmt.Errorf("partition %d cannot send partition %d a %s frame ahead", p.index,
			f.To, kindName(uint8(f.Kind)))
	}
	if err := s.Err(); err != nil {
		return false, err
	}
	f.Superstep += p.past
	if !p.reserve(f) {
		return false, nil
	}
	return true, p.enqueue(f)
}

// Claim makes a frame that was sent ahead part of the current superstep.
func (p *Port) Claim(f *transport.Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger.Sent[f.To].Add(f.Count, len(f.Presence)+len(f.Raw))
}
