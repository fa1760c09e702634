package mesh

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// lane is the queue of a session's messages to one worker under one tag. It has its own window, as
// large as a connection's. So messages that nobody receives block neither messages under other tags
// nor frames.
type lane struct {
	session *Session
	tag     uint32
	to      int // rank
	posts   []*post
	credit  int64 // bytes of chunks that may be written; the last chunk may exceed it
	ready   bool  // in outbound.awaken
	broken  bool  // a message was written only in part
}

// laneKey is the key of a lane.
type laneKey struct {
	key
	tag uint32
}

// post is a message to write: the sender's bytes while the sender waits, or a copy of a small
// message.
type post struct {
	data    []byte
	offset  int
	staged  int  // number of collected, unwritten chunks
	gone    bool // the sender stopped waiting
	copied  bool
	written chan error
	buffer  []byte // memory for copies
}

// cost returns the part of a window that a chunk takes.
func cost(payload int) int64 { return int64(headerSize + payload) }

// post sends a message. It returns when data is no longer needed.
func (o *outbound) post(ctx context.Context, s *Session, to int, tag uint32, data []byte) error {
	o.mu.Lock()
	err := o.err
	if err == nil {
		err = s.Err() // under the lock, so that drop finds everything queued before
	}
	l := o.lane(s, to, tag)
	if err == nil && l.broken {
		err = o.halfWay(l)
	}
	if err != nil {
		o.mu.Unlock()
		return err
	}
	p := o.newPost()
	p.copied = len(data) <= small && len(l.posts) == 0 && l.credit > 0
	if p.copied {
		p.buffer = append(p.buffer[:0], data...)
		p.data = p.buffer
		s.posted.Add(1)
	} else {
		p.data = data
	}
	l.posts = append(l.posts, p)
	o.awake(l)
	copied := p.copied // the writer may reuse p after the unlock
	o.mu.Unlock()
	if copied {
		return nil
	}
	return o.await(ctx, l, p)
}

// await waits until a message is written, or ctx or the session ends.
func (o *outbound) await(ctx context.Context, l *lane, p *post) error {
	select {
	case err := <-p.written:
		o.reuse(p)
		return err
	case <-ctx.Done():
	case <-l.session.done:
	}
	o.mu.Lock()
	p.gone = true
	staged := p.staged > 0
	if !staged {
		o.giveUp(l, p)
	}
	o.mu.Unlock()
	if staged { // one or two chunks, as long as the other side accepts bytes
		<-p.written
	}
	if err := l.session.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// lane finds or makes a lane. The caller holds the lock.
func (o *outbound) lane(s *Session, to int, tag uint32) *lane {
	k := laneKey{key{s.job, s.epoch}, tag}
	l := o.lanes[k]
	if l == nil || l.session != s {
		l = &lane{session: s, tag: tag, to: to, credit: int64(o.window)}
		o.lanes[k] = l
	}
	return l
}

// awake wakes the writer if a lane has something to write and may write it. The caller holds the
// lock.
func (o *outbound) awake(l *lane) {
	if !l.ready && !l.broken && len(l.posts) > 0 && l.credit > 0 {
		l.ready = true
		o.awaken = append(o.awaken, l)
		signal(o.posted)
	}
}

// grant adds credit to a lane.
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

// tidy removes a lane that is equal to a new one. The caller holds the lock.
func (o *outbound) tidy(l *lane) {
	k := laneKey{key{l.session.job, l.session.epoch}, l.tag}
	if len(l.posts) == 0 && l.credit == int64(o.window) && !l.broken && !l.ready &&
		o.lanes[k] == l {
		delete(o.lanes, k)
	}
}

// writeMessage writes a chunk of a message, if any may be written. It serves the lanes in turn.
func (o *outbound) writeMessage() (bool, error) {
	l, p, part := o.nextChunk()
	if l == nil {
		return false, nil
	}
	s := l.session
	h := &o.posting
	*h = header{
		identity: identity{
			kind: kindMessage, job: s.job, incarnation: o.mesh.options.Incarnation, epoch: s.epoch,
			superstep: l.tag,
			from:      uint32(s.self), to: uint32(l.to), contents: uint64(len(p.data)),
		},
		offset: uint64(p.offset - len(part)), length: uint32(len(part)),
	}
	err := o.stage(h, nil, part)
	o.staged = append(o.staged, staged{lane: l, post: p})
	return true, err
}

// settlePost handles the end of a chunk: it was written, or will not be.
func (o *outbound) settlePost(l *lane, p *post) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p.staged--
	whole := p.offset == len(p.data)
	if p.staged > 0 || !whole && !p.gone {
		return
	}
	if whole {
		count(&o.mesh.counters.MessagesOut, 1)
	} else {
		o.giveUp(l, p)
	}
	if p.copied {
		l.session.settled()
		o.reuse(p)
	} else {
		p.written <- nil
	}
	o.tidy(l)
}

// giveUp removes a message from its lane. If a part of it was written, the lane is broken. The
// caller holds the lock.
func (o *outbound) giveUp(l *lane, p *post) {
	if i := slices.Index(l.posts, p); i >= 0 {
		l.posts = slices.Delete(l.posts, i, i+1)
	}
	if p.offset == 0 {
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

// nextChunk returns the next chunk of the lane whose turn it is.
func (o *outbound) nextChunk() (*lane, *post, []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.awaken) > 0 {
		l := o.awaken[0]
		o.awaken = slices.Delete(o.awaken, 0, 1)
		l.ready = false
		if len(l.posts) == 0 || l.broken || l.credit <= 0 {
			continue
		}
		p := l.posts[0]
		if p.gone {
			continue // given up when its staged chunks are written
		}
		part := p.data[p.offset:min(p.offset+o.chunk, len(p.data))]
		p.staged++
		p.offset += len(part)
		if p.offset == len(p.data) {
			l.posts = slices.Delete(l.posts, 0, 1)
		}
		l.credit -= cost(len(part))
		o.awake(l)
		return l, p, part
	}
	return nil, nil, nil
}

// dropLanes removes a session's lanes, or all lanes if s is nil. The caller holds the lock. Senders
// that wait notice the session's end themselves.
func (o *outbound) dropLanes(s *Session) {
	for k, l := range o.lanes {
		if s != nil && l.session != s {
			continue
		}
		delete(o.lanes, k)
		l.posts = slices.DeleteFunc(l.posts, func(p *post) bool {
			if p.copied && p.staged == 0 {
				l.session.settled()
			}
			return p.copied && p.staged == 0
		})
	}
}

func (o *outbound) newPost() *post {
	if p, ok := o.spare.Get().(*post); ok {
		return p
	}
	return &post{written: make(chan error, 1)}
}

// reuse makes a post available for another message.
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
