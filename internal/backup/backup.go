// Package backup writes and reads archives of a master's data. An archive is a tar file; tar and
// sha256sum -c can read it too.
//
//	superstep-backup.json  Header
//	state/..., results/...  files as they are in the directory
//	SHA256SUMS             the SHA-256 of each entry before it, as sha256sum writes it
//
// An archive without its last entry is incomplete. Package master decides which files it contains.
package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Names of entries, the version of the format, and bounds of what is read into memory.
const (
	headerName = "superstep-backup.json"
	sumsName   = "SHA256SUMS"
	format     = 3
	maxHeader  = 1 << 20
	maxSums    = 64 << 20
	maxName    = 255
)

// Header describes an archive.
type Header struct {
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
	Version string    `json:"version"` // of the binary that made it
	Run     uint64    `json:"run"`     // the number of the master's run
	Jobs    int       `json:"jobs"`    // records in the database
	Graphs  int       `json:"graphs"`
	Results int       `json:"results"`
	Columns int       `json:"columns"` // columns of values sent by clients
	// Damaged has, for each result and column that was left out, its defect.
	Damaged []string `json:"damaged,omitempty"`
}

// Writer writes an archive. After an error it must not be used.
type Writer struct {
	tar  *tar.Writer
	sums bytes.Buffer
	at   time.Time
}

// NewWriter begins an archive.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	h.Format = format
	w := &Writer{tar: tar.NewWriter(to), at: h.Created}
	data, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	return w, w.Add(headerName, int64(len(data)), bytes.NewReader(data))
}

// Add adds a file of size bytes.
func (w *Writer) Add(name string, size int64, from io.Reader) error {
	if err := w.entry(name, size); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w.tar, sum), from, size); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(&w.sums, "%x  %s\n", sum.Sum(nil), name)
	return nil
}

func (w *Writer) entry(name string, size int64) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600}
	h.ModTime, h.Format = w.at, tar.FormatPAX
	return w.tar.WriteHeader(h)
}

// Close writes the checksums, which end the archive.
func (w *Writer) Close() error {
	err := w.entry(sumsName, int64(w.sums.Len()))
	if err == nil {
		_, err = w.tar.Write(w.sums.Bytes())
	}
	return errors.Join(err, w.tar.Close())
}

// errShort means that an archive has no end.
var errShort = errors.New("it was cut short, or is no backup of a master: it does not end with " +
	sumsName)

// Verify reads an archive to its end and checks all checksums.
func Verify(from io.Reader) (*Header, error) {
	return read(from, func(string, int64, io.Reader) error { return nil })
}

// Extract writes the files of an archive below a directory, and syncs them. It returns an error for
// a name that allowed rejects. Files written before an error stay.
func Extract(from io.Reader, root *os.Root, allowed func(name string) bool) (*Header, error) {
	return read(from, func(name string, size int64, data io.Reader) error {
		if !allowed(name) {
			return errors.New("it does not belong to a master's data")
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.CopyN(f, data, size)
		return errors.Join(err, f.Sync(), f.Close())
	})
}

// read calls each for the files of an archive, and checks the checksums at its end.
func read(from io.Reader, each func(name string, size int64, r io.Reader) error) (*Header, error) {
	in := tar.NewReader(bufio.NewReaderSize(from, 1<<20))
	h := &Header{}
	var sums bytes.Buffer
	for first := true; ; first = false {
		entry, err := in.Next()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errShort
		case errors.Is(err, tar.ErrHeader):
			return nil, errors.New("it is damaged, or no backup of a master")
		case err != nil:
			return nil, err
		case first != (entry.Name == headerName):
			return nil,
				fmt.Errorf("it is no backup of a master: found the entry %.100q, expected %s first",
					entry.Name, headerName)
		case entry.Typeflag != tar.TypeReg || !fs.ValidPath(entry.Name) ||
			len(entry.Name) > maxName || strings.ContainsAny(entry.Name, "\\\n"):
			return nil, fmt.Errorf("it is damaged, or no backup of a master: found the entry %.100q, expected a file", entry.Name)
		}
		if entry.Name == sumsName {
			return h, compare(in, entry.Size, sums.Bytes())
		}
		sum := sha256.New()
		data := io.TeeReader(in, sum)
		if first {
			err = h.read(data, entry.Size)
		} else if err = each(entry.Name, entry.Size, data); err != nil {
			err = worded(entry.Name, err)
		}
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, data); err != nil { // the unread rest
			return nil, worded(entry.Name, err)
		}
		if sums.Len() > maxSums {
			return nil, fmt.Errorf("found more than %d bytes of checksums", maxSums)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sum.Sum(nil), entry.Name)
	}
}

func worded(name string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errShort
	}
	return fmt.Errorf("%s: %w", name, err)
}

// compare compares the checksums at an archive's end with those of the files read.
func compare(in io.Reader, size int64, sums []byte) error {
	if size > maxSums {
		return errShort
	}
	want, err := io.ReadAll(in)
	if err != nil {
		return worded(sumsName, err)
	}
	if bytes.Equal(want, sums) {
		return nil
	}
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(string(sums), "\n") {
		if i >= len(wanted) || line != wanted[i] {
			_, name, _ := strings.Cut(line, "  ")
			return fmt.Errorf("it is damaged: %.100q is not as it was written", name)
		}
	}
	return fmt.Errorf("it is damaged: %s has more lines than there are files", sumsName)
}

// read reads a header.
func (h *Header) read(from io.Reader, size int64) error {
	if size > maxHeader {
		return fmt.Errorf("%s: found %d bytes, expected %d at most", headerName, size, maxHeader)
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return worded(headerName, err)
	}
	if err := json.Unmarshal(data, h); err != nil {
		return fmt.Errorf("%s: %w", headerName, err)
	}
	if h.Format != format {
		return fmt.Errorf("found a backup of format %d, expected %d: use the version that wrote it", h.Format,
			format)
	}
	return nil
}
