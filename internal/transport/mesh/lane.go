package mesh

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/transport"
)

// lane is a queue of frames, or of a session's messages to one worker under one tag. A connection
// has one lane for the frames of all sessions. Each lane has its own window, all as large. So
// messages that nobody receives block neither messages under other tags nor frames.
type lane struct {
	posts  []*post
	credit int64 // bytes of chunks that may be written; the last chunk may exceed it
	ready  bool  // in outbound.awaken, or the writer has taken the first post
	// Of messages.
	session *Session
	tag     uint32
	broken  bool // a message was written only in part
}

// laneKey is the key of a lane of messages.
type laneKey struct {
	key
	tag uint32
}

// post is a frame or a message to write.
type post struct {
	lane             *lane
	session          *Session
	header           header // its identity, and the offset of its next chunk
	presence, values []byte
	staged           int  // number of taken, unwritten chunks
	gone             bool // its rest is not to be written
	whole            bool // all chunks have been cut

	// Of a frame. A post goes to the writer's processor and back, so it is small.
	port    *Port
	frame   *transport.Frame // with a Ref: it is encoded when it is written; otherwise nil
	encoded int              // bytes of the encoded values

	// Of a message: its values are the sender's bytes while the sender waits, or a copy.
	copied  bool
	written chan error
	buffer  []byte // memory for copies
}

// cost returns the part of a window that a chunk takes.
func cost(payload int) int64 { return int64(headerSize + payload) }

// enqueue queues a frame.
func (o *outbound) enqueue(port *Port, f *transport.Frame) error {
	s, p := port.session, o.newPost()
	p.session, p.port, p.presence, p.values = s, port, f.Presence, f.Raw
	if f.Ref != nil {
		c := *f
		p.frame = &c
	}
	p.header.identity = identity{
		kind: uint8(f.Kind), encoding: f.Encoding, job: s.job,
		incarnation: o.mesh.options.Incarnation, epoch: s.epoch,
		superstep: uint32(f.Superstep), from: uint32(f.From), to: uint32(f.To),
		count: uint64(f.Count), presence: uint64(len(f.Presence)), contents: uint64(len(f.Raw)),
	}
	defer o.writeNow() // without the lock
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.refuses(s); err != nil {
		return err
	}
	s.writing.Add(1)
	o.push(&o.frames, p)
	return nil
}

// post sends a message. It returns when data is no longer needed.
func (o *outbound) post(ctx context.Context, s *Session, to int, tag uint32, data []byte) error {
	p := o.newPost()
	p.session, p.values = s, data
	p.header.identity = identity{
		kind: kindMessage, job: s.job, incarnation: o.mesh.options.Incarnation, epoch: s.epoch,
		superstep: tag, from: uint32(s.self), to: uint32(to), contents: uint64(len(data)),
	}
	o.mu.Lock()
	if err := o.refuses(s); err != nil {
		o.mu.Unlock()
		return err
	}
	l := o.lane(s, tag)
	if l.broken {
		o.mu.Unlock()
		return o.halfWay(l)
	}
	copied := len(data) <= small && len(l.posts) == 0 && l.credit > 0
	if p.copied = copied; copied {
		p.buffer = append(p.buffer[:0], data...)
		p.values = p.buffer
		s.posted.Add(1)
	}
	o.push(l, p)
	o.mu.Unlock()
	o.writeNow()
	if copied { // the writer may have reused p
		return nil
	}
	return o.await(ctx, p)
}

// refuses returns why a session cannot send, or nil. The caller holds the lock, so that drop finds
// everything that was queued before.
func (o *outbound) refuses(s *Session) error { return cmp.Or(o.err, s.Err()) }

// await waits until a message is written, or ctx or the session ends.
func (o *outbound) await(ctx context.Context, p *post) error {
	s := p.session
	select {
	case err := <-p.written:
		o.reuse(p)
		return err
	case <-ctx.Done():
	case <-s.done:
	}
	o.mu.Lock()
	p.gone = true
	staged := p.staged > 0
	if !staged {
		o.giveUp(p)
	}
	o.mu.Unlock()
	if staged { // one or two chunks, as long as the other side accepts bytes
		<-p.written
	}
	if err := s.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// lane finds or makes a lane of messages. The caller holds the lock.
func (o *outbound) lane(s *Session, tag uint32) *lane {
	k := laneKey{key{s.job, s.epoch}, tag}
	l := o.lanes[k]
	if l == nil || l.session != s {
		l = &lane{session: s, tag: tag, credit: int64(o.window)}
		o.lanes[k] = l
	}
	return l
}

// push adds a post to a lane. The caller holds the lock, and calls writeNow afterwards.
func (o *outbound) push(l *lane, p *post) {
	p.lane = l
	l.posts = append(l.posts, p)
	o.list(l)
}

// awake wakes the writer if a lane has something to write and may write it. The caller holds the
// lock.
func (o *outbound) awake(l *lane) {
	if o.list(l) {
		signal(o.ready)
	}
}

// list adds a lane to awaken if it has something to write and may write it. The caller holds the
// lock.
func (o *outbound) list(l *lane) bool {
	if !l.ready && !l.broken && len(l.posts) > 0 && l.credit > 0 {
		l.ready = true
		at := len(o.awaken)
		if l == &o.frames {
			at = min(at, 1)
		}
		o.awaken = slices.Insert(o.awaken, at, l)
		return true
	}
	return false
}

// grant adds credit to a lane of messages.
func (o *outbound) grant(k laneKey, bytes uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lanes[k]
	if l == nil {
		return // its session has ended
	}
	// More credit belongs to an earlier lane of the same name.
	l.credit = min(l.credit+int64(min(bytes, o.window+maxChunk)), int64(o.window))
	o.awake(l)
	o.tidy(l)
}

// tidy removes a lane of messages that is equal to a new one. The caller holds the lock.
func (o *outbound) tidy(l *lane) {
	if l.session == nil || len(l.posts) > 0 || l.credit < int64(o.window) || l.broken || l.ready {
		return
	}
	if k := (laneKey{key{l.session.job, l.session.epoch}, l.tag}); o.lanes[k] == l {
		delete(o.lanes, k)
	}
}

// take returns the post of which a chunk may be written, or nil. It serves the lanes of messages in
// turn, and frames every second time. The post's lane waits for cut. If the next post has more than
// most bytes, or must be encoded, take returns nil.
func (o *outbound) take(most uint64) *post {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.awaken) > 0 {
		l := o.awaken[0]
		if most < math.MaxInt && len(l.posts) > 0 &&
			(l.posts[0].frame != nil || l.posts[0].header.payload() > most) {
			return nil
		}
		o.awaken = pop(o.awaken)
		// A post that is gone is removed when its chunks are written.
		if len(l.posts) > 0 && !l.posts[0].gone && !l.broken && l.credit > 0 {
			l.posts[0].staged++
			return l.posts[0]
		}
		l.ready = false
	}
	return nil
}

// cut returns the next chunk of the post that was taken, unless it has failed or is gone. The other
// side drops frames whose sender stopped in the middle.
func (o *outbound) cut(p *post, failed bool) (h header, a, b []byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := p.lane
	l.ready = false
	if p.gone = p.gone || failed || p.port != nil && p.session.Err() != nil; p.gone {
		return h, nil, nil, false
	}
	h = p.header
	n := min(uint64(o.chunk), h.payload()-h.offset)
	h.length = uint32(n)
	end := h.offset + n
	a = p.presence[min(h.offset, h.presence):min(end, h.presence)]
	b = p.values[max(h.offset, h.presence)-h.presence : max(end, h.presence)-h.presence]
	p.header.offset = end
	l.credit -= cost(int(n))
	if p.port != nil {
		o.sent += uint64(cost(int(n)))
	}
	if p.whole = end == p.header.payload(); p.whole {
		l.posts = pop(l.posts)
	}
	o.awake(l)
	return h, a, b, true
}

// pop removes the first element of a queue in constant time.
func pop[E any](queue []*E) []*E {
	if queue[0] = nil; len(queue) == 1 {
		return queue[:0]
	}
	return queue[1:]
}

// settled records the end of a chunk: it was written, or will not be. It reports whether the post
// has ended. The caller holds the lock.
func (o *outbound) settled(p *post) bool {
	if p.staged--; p.staged > 0 || !p.gone && !p.whole {
		return false
	}
	c := &o.mesh.counters
	switch {
	case !p.whole:
		o.giveUp(p)
	case p.port != nil:
		count(&c.FramesOut, 1)
	default:
		count(&c.MessagesOut, 1)
	}
	o.tidy(p.lane)
	return true
}

// end tells the sender that a post is written, or will not be.
func (o *outbound) end(p *post) {
	switch {
	case p.port != nil:
		p.port.written(int(p.header.superstep), int(p.header.to), p.encoded)
	case p.copied:
		if p.session.posted.Add(-1) == 0 {
			signal(p.session.idle)
		}
	default:
		p.written <- nil
		return // the sender reuses it
	}
	o.reuse(p)
}

// giveUp removes a post from its lane. If only a part of a message was written, the lane is broken.
// The caller holds the lock.
func (o *outbound) giveUp(p *post) {
	l := p.lane
	if i := slices.Index(l.posts, p); i >= 0 {
		l.posts = slices.Delete(l.posts, i, i+1)
	}
	if p.port != nil || p.header.offset == 0 || p.whole {
		o.awake(l)
		return
	}
	l.broken = true
	for _, behind := range l.posts { // none is copied or staged
		behind.written <- o.halfWay(l)
	}
	l.posts = nil
}

// halfWay returns the error for messages behind one that was given up.
func (o *outbound) halfWay(l *lane) error {
	return fmt.Errorf("tag %d to worker %s cannot be used any more: a message was sent in part",
		l.tag, o.peer.Name)
}

func (o *outbound) newPost() *post {
	if p, ok := o.spare.Get().(*post); ok {
		return p
	}
	return &post{written: make(chan error, 1)}
}

// reuse makes a post available for another frame or message.
func (o *outbound) reuse(p *post) {
	*p = post{written: p.written, buffer: p.buffer}
	o.spare.Put(p)
}

// Credits go in the opposite direction of frames. There are three kinds. SSCR is for frames: the
// total number of bytes of chunks that the receiver has taken. It is repeated as a sign of life.
// SSCM is for messages under a tag: the number of additional bytes of chunks that may be sent.
// Neither counts pings. SSCW widens the window of frames and of every tag. Job, epoch and tag are 0
// except in SSCM.
//
//	0  magic  4 | bytes  8 | job  8 | epoch  4 | tag  4 | CRC32-C of bytes 0 to 27  4
const (
	creditMagic  = "SSCR"
	windowMagic  = "SSCW"
	messageMagic = "SSCM"
	creditSize   = 32
)

// credit is a credit of any kind.
type credit struct {
	magic string
	laneKey
	bytes uint64
}

func appendCredit(b []byte, c credit) []byte {
	le, n := binary.LittleEndian, len(b)
	b = le.AppendUint64(append(b, c.magic...), c.bytes)
	b = le.AppendUint32(le.AppendUint32(le.AppendUint64(b, c.job), c.epoch), c.tag)
	return le.AppendUint32(b, crc32.Checksum(b[n:], castagnoli))
}

func readCredit(r io.Reader) (c credit, err error) {
	var b [creditSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return c, err
	}
	le := binary.LittleEndian
	if crc32.Checksum(b[:creditSize-4], castagnoli) != le.Uint32(b[creditSize-4:]) {
		return c, fmt.Errorf("%w: a credit's checksum", errCorrupt)
	}
	for _, c.magic = range []string{creditMagic, windowMagic, messageMagic} {
		if string(b[:4]) == c.magic {
			c.laneKey = laneKey{key{le.Uint64(b[12:]), le.Uint32(b[20:])}, le.Uint32(b[24:])}
			c.bytes = le.Uint64(b[4:])
			return c, nil
		}
	}
	return c, fmt.Errorf("%w: found a credit with %q, expected %s, %s or %s", errCorrupt, b[:4],
		creditMagic, windowMagic, messageMagic)
}
