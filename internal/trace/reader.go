package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of a trace, which may come from an untrusted source.
const (
	maxLine = 16 << 20
	// MaxPartition is the greatest number of a partition.
	MaxPartition = 1<<16 - 1
	maxSuperstep = 1 << 40
)

// ErrCut means that the last line of a trace is incomplete: the run was killed, or is still
// writing.
var ErrCut = errors.New("the line is cut short: the run was killed, or is still writing")

// Reader reads a trace line by line.
type Reader struct {
	name string
	in   *bufio.Scanner
	line int
}

// NewReader reads a trace. name is the file's name for errors, which have the form "NAME:LINE:
// found X, expected Y".
func NewReader(r io.Reader, name string) *Reader {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 256<<10), maxLine)
	in.Split(lines)
	return &Reader{name: name, in: in}
}

// Play forwards all events of the trace to a journal, up to the first error. If only the end is
// missing the error is ErrCut.
func (r *Reader) Play(to Journal) error {
	for {
		line, err := r.next()
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if err := r.pass(line, to); err != nil {
			return err
		}
	}
}

// Begins reads the first line. It returns an error if there is none, or if it is not of a trace.
func (r *Reader) Begins() error {
	line, err := r.next()
	if err == io.EOF {
		return fmt.Errorf("%s: there are no supersteps in it", r.name)
	}
	if err == nil {
		_, err = r.kind(line)
	}
	return err
}

// next returns the next line that is not empty. It is valid until the next call.
func (r *Reader) next() ([]byte, error) {
	for r.in.Scan() && r.in.Err() == nil { // an error of reading may have cut the line
		r.line++
		text := r.in.Bytes()
		if !bytes.HasSuffix(text, []byte("\n")) && !json.Valid(text) {
			return nil, r.errorf("%w", ErrCut)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			return text, nil
		}
	}
	err := r.in.Err()
	switch r.line++; {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, r.errorf("found a line of more than %d bytes", maxLine)
	}
	return nil, fmt.Errorf("%s: %w", r.name, err)
}

// lines is bufio.ScanLines, but its lines end with the newline, which may be missing in the last.
func lines(data []byte, atEOF bool) (int, []byte, error) {
	n, line, err := bufio.ScanLines(data, atEOF)
	if line != nil {
		line = data[:n]
	}
	return n, line, err
}

func (r *Reader) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", r.name, r.line, fmt.Errorf(format, args...))
}

// pass decodes a line and gives it to a journal.
func (r *Reader) pass(line []byte, to Journal) error {
	kind, err := r.kind(line)
	if err != nil {
		return err
	}
	switch kind {
	case kindRecord:
		return decode(r, line, check, to)
	case kindJob:
		return decode(r, line, (*Job).check, to)
	case kindEnd:
		return decode(r, line, (*End).check, to)
	case kindStage:
		return decode(r, line, (*Stage).check, to)
	case kindSearch:
		return decode(r, line, (*Search).Check, to)
	case kindLog:
		return decode(r, line, func(*Log) error { return nil }, to)
	default:
		return nil // a later version added it, and it can be ignored
	}
}

// usual is the beginning of most lines.
var usual = fmt.Appendf(nil, `{"v":%d,"kind":"superstep",`, Version)

func (r *Reader) kind(line []byte) (string, error) {
	if bytes.HasPrefix(line, usual) {
		return kindRecord, nil
	}
	expected := "a line of a trace"
	if r.line == 1 {
		expected = "a trace, as superstep run --trace FILE writes: lines of JSON"
	}
	var h head
	switch err := json.Unmarshal(line, &h); {
	case err != nil:
		return "", r.errorf("found %s, expected %s", excerpt(line), expected)
	case h.Version == 0 || h.Kind == "":
		return "", r.errorf("found %s, expected %s, with v and kind", excerpt(line), expected)
	case h.Version != Version:
		return "", r.errorf("found version %d of the trace's form, expected %d: "+
			"another version of superstep wrote it", h.Version, Version)
	}
	return h.Kind, nil
}

func decode[T any](r *Reader, line []byte, check func(*T) error, to Journal) error {
	x := new(T)
	if err := json.Unmarshal(line, x); err != nil {
		return r.errorf("found %s: %w", excerpt(line), err)
	}
	if err := check(x); err != nil {
		return r.errorf("%w", err)
	}
	return to.Record(x)
}

// excerpt quotes the beginning of a text.
func excerpt[T string | []byte | Ended](text T) string {
	return fmt.Sprintf("%.80q", strings.TrimSpace(string(text)))
}

func (j *Job) check() error {
	switch {
	case j.Job == "":
		return errors.New("found a job without a name")
	case j.Partitions < 0 || j.Partitions > MaxPartition+1:
		return fmt.Errorf("found %d partitions, expected 0 to %d", j.Partitions, MaxPartition+1)
	case j.MaxSupersteps < 0:
		return fmt.Errorf("found max_supersteps %d, expected 0 or more", j.MaxSupersteps)
	case !within(maxSeconds, j.Generation, j.Construction):
		return fmt.Errorf("found %g s of generation and %g s of construction", j.Generation,
			j.Construction)
	}
	return nil
}

func (e *End) check() error {
	if !slices.Contains([]string{Done, Failed, Cancelled}, e.State) {
		return fmt.Errorf("found state %s, expected %s, %s or %s", excerpt(e.State), Done,
			Failed, Cancelled)
	}
	if e.Ended != "" && !e.Ended.Complete() && e.Ended != Limit && e.Ended != Stopped {
		return fmt.Errorf("found ended %s, expected %s, %s, %s, %s or %s", excerpt(e.Ended),
			Converged, Iterations, Limit, Halted, Stopped)
	}
	if e.Supersteps < 0 || e.Seconds < 0 {
		return fmt.Errorf("found %d supersteps in %g seconds", e.Supersteps, e.Seconds)
	}
	return nil
}

func (s *Stage) check() error {
	if s.Stage == "" || s.Done < 0 || s.Total < 0 || s.Seconds < 0 {
		return fmt.Errorf("found stage %s, %d of %d done in %g seconds", excerpt(s.Stage),
			s.Done, s.Total, s.Seconds)
	}
	return nil
}
