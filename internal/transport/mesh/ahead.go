package mesh

import (
	"fmt"
	"net"

	"github.com/superstep-go/superstep/internal/transport"
)

// isMemory reports whether what is written to a connection is copied to its reader by this
// machine's processors: then nothing is gained while they have other work. A connection that is
// neither TCP's nor a Unix socket's is one that a Dialer has slowed down.
func isMemory(c net.Conn) bool {
	c = bare(c)
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
		return isLocal(c)
	}
	return false
}

// Distant reports whether a partition is at a worker to which a network leads.
func (p *Port) Distant(partition int) bool {
	s := p.session
	return s.ports[partition] == nil && !s.outs[s.layout.Owner[partition]].memory
}

// SendAhead sends a frame of the next superstep to a distant partition, if not too many frames are
// to be written. Its buffers must stay as they are until End of that superstep returns.
func (p *Port) SendAhead(f *transport.Frame) (bool, error) {
	s := p.session
	if f.To < 0 || f.To >= len(s.ports) || s.ports[f.To] != nil || f.Ref != nil {
		return false, fmt.Errorf("partition %d cannot send partition %d a %s frame ahead", p.index,
			f.To, kindName(uint8(f.Kind)))
	}
	if err := s.Err(); err != nil {
		return false, err
	}
	p.mu.Lock()
	crowded := p.pending[0]+p.pending[1] >= p.limit
	if !crowded {
		p.pending[f.Superstep&1]++
	}
	p.mu.Unlock()
	if crowded {
		return false, nil
	}
	return true, p.enqueue(f)
}

// Claim counts a frame that was sent ahead as one of this superstep.
func (p *Port) Claim(f *transport.Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger.Sent[f.To].Add(f.Count, len(f.Presence)+len(f.Raw))
}
