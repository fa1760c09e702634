package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// disk has the directories of all masters of a cluster. It is a small separate file system if the
// test may mount one. Otherwise only results notice that it is full.
type disk struct {
	dir     string
	mounted bool
	removed int // number of removed directories

	mu      sync.Mutex
	full    bool
	damages int // the bit that is flipped in all written results; 0 means none
}

// turned flips one bit.
func turned(data []byte, bit int) []byte {
	if len(data) == 0 {
		return data
	}
	data = bytes.Clone(data)
	data[bit/8%len(data)] ^= 1 << (bit % 8)
	return data
}

// part is a file of a result that is written to the disk.
type part struct {
	io.Reader
	disk *disk
}

func (d *disk) wrap(from io.Reader) io.Reader { return &part{from, d} }

func (p *part) Read(data []byte) (int, error) {
	p.disk.mu.Lock()
	full, bit := p.disk.full && !p.disk.mounted, p.disk.damages
	p.disk.mu.Unlock()
	if full {
		return 0, syscall.ENOSPC
	}
	n, err := p.Reader.Read(data)
	if bit != 0 {
		copy(data, turned(data[:n], bit))
	}
	return n, err
}

// set makes the disk full, or makes room.
func (d *disk) set(full bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
	return d.fill(full)
}

func (d *disk) fill(full bool) error {
	ballast := filepath.Join(d.dir, "ballast")
	if !d.mounted || !full {
		return os.RemoveAll(ballast)
	}
	f, err := os.Create(ballast)
	if err != nil {
		return err
	}
	defer f.Close()
	some := make([]byte, 64<<10)
	for n := len(some); n > 0; {
		if _, err := f.Write(some[:n]); err != nil {
			n /= 2
		}
	}
	return nil
}

// copy copies a directory of the disk, after making room. A removed directory is not copied.
func (d *disk) copy(to, from string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.fill(false)
	if copied := os.CopyFS(to, os.DirFS(from)); !errors.Is(copied, fs.ErrNotExist) {
		err = errors.Join(err, copied)
	}
	return errors.Join(err, d.fill(d.full))
}

// damage flips a bit in each file below a directory.
func damage(dir string, bit int) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(turned(data, bit), 0)
		return errors.Join(err, f.Close())
	})
}

// must reports an error of the test itself.
func (c *cluster) must(err error) {
	if err != nil {
		c.t.Error(err)
	}
}

// damagingResults flips a bit in each existing part of a result, and in newly written ones.
func (c *cluster) damagingResults(hold time.Duration, bit int) *fault {
	set := func(bit int) {
		c.disk.mu.Lock()
		defer c.disk.mu.Unlock()
		c.disk.damages = bit
	}
	return &fault{name: fmt.Sprintf("damage bit %d of results", bit), hold: hold, do: func() {
		set(bit)
		c.must(damage(filepath.Join(c.dir, "results"), bit))
	}, undo: func() { set(0) }}
}

// damagingCheckpoints does the same with the objects of checkpoints.
func (c *cluster) damagingCheckpoints(hold time.Duration, bit int) *fault {
	name := fmt.Sprintf("damage bit %d of checkpoints", bit)
	f := c.troubling(name, hold, func(t *trouble, on bool) {
		if t.damages = 0; on {
			t.damages = bit
		}
	})
	set := f.do
	f.do = func() {
		set()
		c.objects.damage(bit)
		c.must(damage(filepath.Join(c.dir, "checkpoints"), bit))
	}
	return f
}

// filling makes the master's disk full.
func (c *cluster) filling(hold time.Duration) *fault {
	return &fault{
		name: "full disk of the master", hold: hold,
		do:   func() { c.must(c.disk.set(true)) },
		undo: func() { c.must(c.disk.set(false)) },
	}
}

// removing removes the data of a running master. It restores them later, unless the master has new
// data.
func (c *cluster) removing(hold time.Duration) *fault {
	var dir, gone string
	return &fault{name: "remove the master's data", hold: hold, do: func() {
		c.disk.removed++
		dir, gone = c.dir, filepath.Join(c.disk.dir, fmt.Sprint("gone-", c.disk.removed))
		if err := os.Rename(dir, gone); !errors.Is(err, fs.ErrNotExist) {
			c.must(err)
		}
	}, undo: func() {
		if _, err := os.Stat(dir); err == nil || dir != c.dir {
			c.lost = true
		} else if err := os.Rename(gone, dir); !errors.Is(err, fs.ErrNotExist) {
			c.must(err)
		}
	}}
}

// losing kills the master and removes its data.
func (c *cluster) losing(hold, jump time.Duration) *fault {
	return &fault{name: "lose the master's disk", hold: hold, do: func() {
		c.killMaster(true)
		c.must(os.RemoveAll(c.dir))
		c.lost = true
	}, undo: func() { c.reviveMaster(jump) }}
}

// differing replaces a worker's graph file by another one.
func (c *cluster) differing(worker string, hold time.Duration) *fault {
	return &fault{
		name: "another file at " + worker, hold: max(hold, 2*time.Second), early: true,
		do:   func() { c.must(c.putFile(worker, c.otherFile)) },
		undo: func() { c.must(c.putFile(worker, c.file)) },
	}
}

// fileName is the name of the graph file in jobs.
const fileName = "graph.el"

// root returns the data root of a worker.
func (c *cluster) root(worker string) string {
	return filepath.Join(filepath.Dir(c.disk.dir), worker)
}

// putFile replaces a worker's file.
func (c *cluster) putFile(worker string, text []byte) error {
	path := filepath.Join(c.root(worker), fileName)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// seesAnother reports whether a fault replaces the file of one of these workers.
func seesAnother(all []*fault, names string) bool {
	for _, f := range all {
		if w, ok := strings.CutPrefix(f.name, "another file at "); ok &&
			strings.Contains(names, w) {
			return true
		}
	}
	return false
}

// allSeeAnother reports whether faults replace the files of all these workers.
func allSeeAnother(faults []*fault, workers []string) bool {
	for _, w := range workers {
		if !slices.ContainsFunc(faults,
			func(f *fault) bool { return f.name == "another file at "+w }) {
			return false
		}
	}
	return len(workers) > 0
}

// TestAnotherMasterCountsAnew: the master's disk is lost when other workers know a worker's second
// incarnation. They must accept the lower incarnation that the next master assigns.
func TestAnotherMasterCountsAnew(t *testing.T) {
	s := setting{job: jobs[3], workers: 3, delay: 2 * time.Millisecond, every: 1}
	o := disturbed(t, 0, s, s.job.result(t), func(c *cluster) []*fault {
		restart := func(at time.Duration) *fault {
			return &fault{
				name: "kill w2", at: at, hold: 5 * time.Millisecond,
				do: func() { c.kill(c.workers[2], true) }, undo: func() { c.revive(2, 0) },
			}
		}
		another := &fault{name: "run a job on all", at: 6 * time.Second, do: func() {
			if _, j, err := c.run(t.Context(), s.spec()); err != nil || len(j.Workers) != 3 {
				t.Errorf("the second job is on %v: %v", j.GetWorkers(), err)
			}
		}, undo: func() {}}
		lose := c.losing(2*time.Second, 0)
		lose.at = 20 * time.Second
		// it comes first
		return []*fault{restart(0), another, lose, restart(21999 * time.Millisecond)}
	})
	if o.bad != "" || o.result != same {
		t.Errorf("%v\n%s", o, o.journal)
	}
}
