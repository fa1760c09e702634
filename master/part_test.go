package master

import (
	"errors"
	"io"
	"testing"
)

// fullDisk is a file on a full disk. It fails at a write, or only when it is closed.
type fullDisk struct {
	io.WriteCloser
	late bool
}

var errFull = errors.New("no space left on device")

func (d fullDisk) Write(data []byte) (int, error) {
	if d.late {
		return d.WriteCloser.Write(data)
	}
	return 0, errFull
}

func (d fullDisk) Close() error { return errors.Join(d.WriteCloser.Close(), errFull) }

// TestFullDisk: a part that was not written completely is not used as a result, whether writing or
// closing the file failed.
func TestFullDisk(t *testing.T) {
	for _, late := range []bool{false, true} {
		r, err := newResults(t.TempDir(),
			func(f io.WriteCloser) io.WriteCloser { return fullDisk{f, late} })
		if err != nil {
			t.Fatal(err)
		}
		p := r.create("j", 1)[0]
		if err := p.write([]byte("1 2\n"), true); !errors.Is(err, errFull) || p.whole.Load() {
			t.Errorf("late %t: %v, expected %v", late, err, errFull)
		}
		r.close()
	}
}
