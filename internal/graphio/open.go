package graphio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// headSize is how much of a file is looked at to tell its format.
const headSize = 64 << 10

var (
	utf8BOM    = []byte{0xef, 0xbb, 0xbf}
	utf16BOMLE = []byte{0xff, 0xfe}
	utf16BOMBE = []byte{0xfe, 0xff}
)

// file is an input file, open, and its content as a stream. Whoever reads a plain regular file may
// also go by offset.
type file struct {
	path  string
	roots *store.Roots // that it is below, if it must be
	f     input
	info  fs.FileInfo
	codec codec
	limit int64 // on expansion
	// regular: has a size, can be read by offset and more than once. Pipes are not.
	regular  bool
	progress *progress
	// unwritten: a pipe from which nothing was read yet, that may have no writer.
	unwritten bool

	// bytes taken through raw that count as read and may have to be read again
	rawRead int64
	rawAt   int64         // bytes taken through raw since its beginning
	raw     *bufio.Reader // the bytes of the file
	expand  *expander     // nil for a plain file
	content *bufio.Reader // the bytes decoded
	cancel  func() bool
}

// open opens a text file, compressed if its first bytes say so.
func (r *reader) open(ctx context.Context, path string) (*file, error) {
	f, err := r.openRaw(ctx, path)
	if err != nil {
		return nil, err
	}
	if !r.expecting {
		r.progress.expect(f.size() / int64(r.ranks))
	}
	head, err := f.raw.Peek(4)
	if err != nil && err != io.EOF {
		_ = f.Close()
		return nil, err
	}
	f.codec = codecOf(head)
	if _, named := splitCodec(path); named != plain && f.codec == plain && len(head) < 4 {
		_ = f.Close()
		return nil, fileFault(path, fmt.Sprintf("a file of %s", counted(len(head), "byte")), named.String()+" data")
	}
	f.decode()
	// a beginning that is cut would be taken for a short text, and that be blamed
	if f.codec != plain {
		if _, err := f.content.Peek(headSize); err != nil && err != io.EOF {
			_ = f.Close()
			return nil, err
		}
	}
	return f, nil
}

// openRaw opens a file whose compression the caller is to set.
func (r *reader) openRaw(ctx context.Context, path string) (*file, error) {
	f, err := openInput(ctx, path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fileFault(path, "a directory", "a file, or a directory with a snapshot (snapshot.json)")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if path == Stdin {
		path = stdinName
	}
	in := &file{path: path, roots: store.RootsOf(ctx), f: f, info: info, limit: r.MaxExpand, regular: info.Mode().IsRegular() && path != stdinName, progress: &r.progress}
	// A pipe may be silent for ever: a deadline in the past ends the wait when the caller has had
	// enough.
	in.cancel = context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	if in.regular && info.Size() == 0 { // files of /proc say so, and have something in them
		n, _ := f.ReadAt(make([]byte, 1), 0)
		in.regular = n == 0
	}
	if r.partial && !in.regular { // before it is read from: nobody may ever write to a pipe
		_ = in.Close()
		return nil, fileFault(path, "a pipe or device", "a regular file, which all workers can read")
	}
	in.unwritten = info.Mode()&fs.ModeNamedPipe != 0
	in.restart()
	return in, nil
}

// size returns the size of a regular file, in bytes, and 0 of others.
func (f *file) size() int64 {
	if !f.regular {
		return 0
	}
	return f.info.Size()
}

// restart goes back to the beginning of a regular file.
func (f *file) restart() {
	var from io.Reader = f.f
	if f.regular {
		from = io.NewSectionReader(f.f, 0, f.size())
	}
	if _, far := f.f.(*object); far {
		from = bufio.NewReaderSize(from, requestSize)
	}
	f.uncount()
	f.rawAt = 0
	f.raw = bufio.NewReaderSize(&rawReader{f, from}, headSize)
	f.decode()
}

// uncount takes back from the progress what has been looked at and will be read again.
func (f *file) uncount() {
	f.progress.add(-f.rawRead)
	f.rawRead = 0
}

// decode makes content of raw.
func (f *file) decode() {
	f.closeExpander()
	f.content = f.raw
	if f.codec != plain {
		f.expand = expand(f)
		f.content = bufio.NewReaderSize(f.expand, headSize)
	}
}

// consumed returns how many bytes of the file went into what of the content has been read or looked
// at: the same for all who read the file the same way.
func (f *file) consumed() int64 { return f.rawAt - int64(f.raw.Buffered()) }

func (f *file) closeExpander() {
	if f.expand != nil {
		f.expand.close()
		f.expand = nil
	}
}

// head returns the first lines of the content without taking them. What is wrong with them shows
// when they are read.
func (f *file) head() []byte {
	head, err := f.content.Peek(headSize)
	if err == nil {
		return head[:bytes.LastIndexByte(head, '\n')+1] // the last line may go on
	}
	return head
}

// headIsAll reports whether the content ends within what head looks at.
func (f *file) headIsAll() bool {
	_, err := f.content.Peek(headSize)
	return err == io.EOF
}

// Close closes the file, and drops its buffers: what judges an input may keep the file for its
// name.
func (f *file) Close() error {
	f.cancel()
	f.closeExpander()
	f.raw, f.content = nil, nil
	return f.f.Close()
}

// unchanged fails when the file is no longer what it was when it was opened.
func (f *file) unchanged() error {
	if !f.regular {
		return nil
	}
	if o, far := f.f.(*object); far {
		_, now, err := find(o.ctx, f.path)
		if err == nil && now != o.object {
			err = f.changed("another object")
		}
		return err
	}
	now, err := f.roots.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.changed("no file any more")
	}
	if err != nil {
		return err
	}
	switch {
	case !os.SameFile(now, f.info):
		return f.changed("another file")
	case now.Size() != f.size():
		return f.changed(counted(now.Size(), "byte"))
	case !now.ModTime().Equal(f.info.ModTime()):
		return f.changed("a new time of change")
	}
	return nil
}

func (f *file) changed(found string) error {
	return f.fault(found+" while it was read", "the "+counted(f.size(), "byte")+" it had when it was opened")
}

// random prepares reading by offset alone, for which what is expected must be neither compressed
// nor a pipe.
func (f *file) random(expected string) error {
	const why = ": it is read from several places at once"
	switch {
	case f.codec != plain:
		return f.fault(f.codec.String()+" data", expected+why)
	case !f.regular:
		return f.fault("a pipe or device", "a regular file"+why)
	}
	f.uncount()
	return nil
}

// readAt fills p from the offset given; the file has that much.
func (f *file) readAt(p []byte, off int64) error {
	n, err := f.f.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		return f.changed(counted(off+int64(n), "byte"))
	default:
		return &readError{err}
	}
}

// rawReader reads a file in order and reports progress.
type rawReader struct {
	f    *file
	from io.Reader
}

func (r *rawReader) Read(p []byte) (int, error) {
	if r.f.unwritten {
		if err := awaitWriter(r.f.f.(*os.File)); err != nil {
			return 0, &readError{err}
		}
		r.f.unwritten = false
	}
	n, err := r.from.Read(p)
	r.f.rawRead += int64(n)
	r.f.rawAt += int64(n)
	r.f.progress.add(int64(n))
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}

// readError is an error of the system, not of the data.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// progress adds up bytes read and tells them.
type progress struct {
	mu          sync.Mutex
	done, total int64
	report      func(done, total int64)
}

// expect adds n bytes to those that will be read.
func (p *progress) expect(n int64) {
	p.mu.Lock()
	p.total += n
	p.mu.Unlock()
}

// add adds n bytes to those read, and tells.
func (p *progress) add(n int64) {
	p.mu.Lock()
	p.done += n
	if p.total > 0 {
		p.done = min(p.done, p.total)
	}
	if p.report != nil && n > 0 {
		p.report(p.done, p.total)
	}
	p.mu.Unlock()
}
