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
)

// headSize is the number of bytes at the beginning of a file that determine its format.
const headSize = 64 << 10

var (
	utf8BOM    = []byte{0xef, 0xbb, 0xbf}
	utf16BOMLE = []byte{0xff, 0xfe}
	utf16BOMBE = []byte{0xfe, 0xff}
)

// file is an open input file with its content as a stream. A plain regular file can also be read by
// offset.
type file struct {
	path  string
	f     input
	info  fs.FileInfo
	codec codec
	limit int64 // maximum size after decompression
	// regular: the file has a size and can be read by offset and several times. Pipes are not
	// regular.
	regular  bool
	progress *progress
	// unwritten: a pipe that was not read yet, and maybe has no writer.
	unwritten bool

	rawAt   int64         // bytes read from raw
	raw     *bufio.Reader // the bytes of the file
	expand  *expander     // nil for a plain file
	content *bufio.Reader // the decompressed bytes
	bom     int64         // size of the byte order mark before the text: 0 or 3 bytes
	cancel  func() bool
}

// Open opens a file that is no graph. It may be compressed.
func Open(ctx context.Context, path string) (io.ReadCloser, error) {
	f, err := newReader(ReadOptions{}, pieceSize).open(ctx, path)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{f.content, f}, nil
}

// open opens a text file. Its first bytes tell whether it is compressed.
func (r *reader) open(ctx context.Context, path string) (*file, error) {
	f, err := r.openRaw(ctx, path)
	if err != nil {
		return nil, err
	}
	if !r.expecting {
		r.progress.expect(f.size() / int64(r.ranks))
	}
	if err := f.begin(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// begin determines the compression, and goes to the beginning of the text, after a byte order mark.
func (f *file) begin() error {
	head, err := f.raw.Peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	f.codec = codecOf(head)
	if _, named := splitCodec(f.path); named != plain && f.codec == plain && len(head) < 4 {
		return f.fault(fmt.Sprintf("a file of %s", Counted(len(head), "byte")),
			named.String()+" data")
	}
	if f.codec != plain {
		f.expand = expand(f)
		f.content = bufio.NewReaderSize(f.expand, headSize)
	}
	// otherwise a truncated compressed file would be reported as a short text
	if f.codec != plain {
		if _, err := f.content.Peek(headSize); err != nil && err != io.EOF {
			return err
		}
	}
	head, _ = f.content.Peek(len(utf8BOM)) // the error appears again
	switch {
	case bytes.HasPrefix(head, utf16BOMLE), bytes.HasPrefix(head, utf16BOMBE):
		return inFile(firstLineFault("a UTF-16 byte order mark", "text in UTF-8 or ASCII"), f.path)
	case bytes.Equal(head, utf8BOM):
		f.bom = int64(len(utf8BOM))
		_, err = f.content.Discard(len(utf8BOM))
		return err
	}
	return nil
}

// openRaw opens a file. The caller determines its compression.
func (r *reader) openRaw(ctx context.Context, path string) (*file, error) {
	f, err := openInput(ctx, path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fileFault(path, "a directory",
			"a file, or a directory with a snapshot (snapshot.json)")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if path == Stdin {
		path = stdinName
	}
	in := &file{path: path, f: f, info: info, limit: r.MaxExpand}
	in.regular, in.progress = info.Mode().IsRegular() && path != stdinName, &r.progress
	// Reading a pipe may block. When the caller's context ends, a deadline in the past ends the
	// read.
	in.cancel = context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	if in.regular && info.Size() == 0 { // files in /proc report size 0 but have content
		n, _ := f.ReadAt(make([]byte, 1), 0)
		in.regular = n == 0
	}
	if r.partial && !in.regular { // check before reading: a pipe may never have a writer
		_ = in.Close()
		return nil,
			fileFault(path, "a pipe or device", "a regular file, which all workers can read")
	}
	in.unwritten = info.Mode()&fs.ModeNamedPipe != 0
	var from io.Reader = f
	if in.regular {
		from = io.NewSectionReader(f, 0, in.size())
	}
	if _, far := f.(*object); far {
		from = bufio.NewReaderSize(from, requestSize)
	}
	in.raw = bufio.NewReaderSize(&rawReader{in, from}, headSize)
	in.content = in.raw
	return in, nil
}

// size returns the size of a regular file in bytes. For other files it returns 0.
func (f *file) size() int64 {
	if !f.regular {
		return 0
	}
	return f.info.Size()
}

// uncount subtracts from progress the bytes so far, which will be read again by offset.
func (f *file) uncount() { f.progress.add(-f.rawAt) }

// consumed returns the number of bytes of the file that were used for the content read so far,
// including what was peeked. All ranks that read the file in the same way get the same number.
func (f *file) consumed() int64 { return f.rawAt - int64(f.raw.Buffered()) }

// head returns the first whole lines of the content without consuming them. It ignores errors,
// which appear again when the lines are read.
func (f *file) head() []byte {
	head, err := f.content.Peek(headSize)
	if err == nil {
		return head[:bytes.LastIndexByte(head, '\n')+1] // the last line may continue
	}
	return head
}

// headIsAll reports whether head sees all of the content.
func (f *file) headIsAll() bool {
	_, err := f.content.Peek(headSize)
	return err == io.EOF
}

// Close closes the file and drops its buffers: the functions of an input may keep the file for its
// name.
func (f *file) Close() error {
	f.cancel()
	if f.expand != nil {
		f.expand.close()
	}
	f.raw, f.content = nil, nil
	return f.f.Close()
}

// unchanged returns an error if the file was changed since it was opened.
func (f *file) unchanged(ctx context.Context) error {
	if !f.regular {
		return nil
	}
	now, err := stat(ctx, f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.changed("no file any more")
	}
	if err != nil {
		return err
	}
	_, far := now.(objectInfo)
	switch {
	case far && now != f.info:
		return f.changed("another object")
	case far:
		return nil
	case !os.SameFile(now, f.info):
		return f.changed("another file")
	case now.Size() != f.size():
		return f.changed(Counted(now.Size(), "byte"))
	case !now.ModTime().Equal(f.info.ModTime()):
		return f.changed("a new time of change")
	}
	return nil
}

func (f *file) changed(found string) error {
	return f.fault(found+" while it was read", "the "+Counted(f.size(), "byte")+
		" it had when it was opened")
}

// random prepares for reading by offset only. It returns an error if the file is compressed or a
// pipe; expected describes the right file.
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

// readAt fills p from an offset. The file must be long enough.
func (f *file) readAt(p []byte, off int64) error {
	n, err := f.f.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		return f.changed(Counted(off+int64(n), "byte"))
	default:
		return &readError{err}
	}
}

// rawReader reads a file sequentially and reports progress.
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

// progress counts bytes read and reports them.
type progress struct {
	mu          sync.Mutex
	done, total int64
	report      func(done, total int64)
}

// expect adds n bytes to the expected total.
func (p *progress) expect(n int64) {
	p.mu.Lock()
	p.total += n
	p.mu.Unlock()
}

// add adds n bytes to those read, and reports progress.
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
