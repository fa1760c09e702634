package master

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// stored is what a master keeps: the result of a job, or a column that a client sends.
type stored struct {
	id      string
	bytes   int64
	at      time.Time // when the job ended, or the client sent something
	readers int       // those who need it: it stays as long

	// Of a result.
	job    *control.Job // nil if its master ended before it wrote the manifest, or that is damaged
	damage error        // store.ErrDamaged of that, or nil

	// Of a column.
	file    sync.Mutex // of who writes it
	partial bool       // something is still to come
	gone    bool
}

// keptTable has what a master keeps, by id.
type keptTable struct {
	mu  sync.Mutex
	all map[string]*stored
}

// read keeps one from being removed until done is called. It is nil if there is none.
func (t *keptTable) read(id string) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.all[id]
	if k == nil {
		return nil
	}
	k.readers++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		k.readers--
	}
}

// readAll keeps all that are whole from being removed until done is called.
func (t *keptTable) readAll() (ids []string, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*stored
	for _, id := range slices.Sorted(maps.Keys(t.all)) {
		if k := t.all[id]; !k.partial {
			k.readers++
			ids, all = append(ids, id), append(all, k)
		}
	}
	return ids, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, k := range all {
			k.readers--
		}
	}
}

// total is how many bytes are kept. The lock is held.
func (t *keptTable) total() (n int64) {
	for _, k := range t.all {
		n += k.bytes
	}
	return n
}

// place is where results and columns lie: the master's own directory, or the place that masters
// share.
type place struct {
	store.Store
	called string // what errors call it
	prefix string // of the names of results
	depth  int    // how many slashes are before the last element of these
}

// Names in a place.
const (
	columnsPrefix = columnsName + "/"
	// The object beside a result's parts that says whose it is: the job, as JSON. It is for later
	// masters.
	manifestName = "job.json"
	maxManifest  = 8 << 20 // JSON is longer than what is in a message
	partPrefix   = "part-" // begins the names of parts
)

// jobName is how jobs are called. Directories with other names are left alone.
var jobName = regexp.MustCompile(`^[0-9a-f]{4}-[0-9]+$`)

// found is a result as it lies in a place, or a column.
type found struct {
	*place
	dir     string // begins the names of its objects
	objects map[string]store.Object
}

// results finds the results of all jobs, or of one, of each that of the last term.
func (p *place) results(ctx context.Context, job string) (map[string]*found, error) {
	all := map[string]*found{}
	prefix := p.prefix
	if job != "" {
		prefix += job + "/"
	}
	for o, err := range p.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		dir, file := path.Split(o.Name)
		id, _, _ := strings.Cut(strings.TrimPrefix(dir, p.prefix), "/")
		if strings.Count(dir, "/") != p.depth || !jobName.MatchString(id) ||
			!strings.HasPrefix(file, partPrefix) && file != manifestName {
			continue
		}
		if all[id] == nil || dir > all[id].dir {
			all[id] = &found{p, dir, map[string]store.Object{}}
		}
		if dir == all[id].dir {
			all[id].objects[file] = o
		}
	}
	return all, nil
}

// result finds the result of a job, which may not be there.
func (p *place) result(ctx context.Context, job string) (*found, error) {
	all, err := p.results(ctx, job)
	if f := all[job]; f != nil {
		return f, err
	}
	return &found{place: p, dir: p.prefix + job + "/"}, err
}

// begins reports whether a result's first part is there, which goes first when it is removed.
func (f *found) begins() bool {
	_, ok := f.objects[partFile(0)]
	return ok
}

// column finds a column, which may not be there.
func (p *place) column(ctx context.Context, id string) (*found, error) {
	f := &found{p, columnsPrefix, map[string]store.Object{}}
	o, err := store.Stat(ctx, p.Store, columnsPrefix+id)
	if err == nil {
		f.objects[id] = o
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return f, err
}

// stored counts the bytes of a result.
func (f *found) stored(id string, now time.Time) *stored {
	k := &stored{id: id}
	for _, o := range f.objects {
		k.bytes += o.Size
		if o.Modified.After(k.at) {
			k.at = o.Modified
		}
	}
	if k.at.IsZero() {
		k.at = now
	}
	return k
}

// A reader asks for so many bytes at once, and those of all parts of a result for so many together.
const (
	leastPiece = 64 << 10
	mostPiece  = 2 << 20
	allPieces  = 16 << 20
)

// open returns a reader of an object, which gives store.ErrDamaged in place of its end if it is not
// as it was written. Its length is compared at once.
func (f *found) open(ctx context.Context, file string, want store.Sum, piece int) (io.Reader, error) {
	name := f.called + "/" + f.dir + file
	o, ok := f.objects[file]
	switch {
	case !ok:
		return nil, store.Missing(name)
	case o.Size != want.Bytes:
		return nil, want.Damage(name, store.Sum{Bytes: o.Size})
	}
	return want.Check(name, store.Reader(ctx, f.Store, o, piece)), nil
}

// parts opens the parts of a result.
func (f *found) parts(ctx context.Context, sums []*control.Sum) (all []io.Reader, err error) {
	for i, sum := range sums {
		r, err := f.open(ctx, partFile(i), sumOf(sum),
			min(max(allPieces/len(sums), leastPiece), mostPiece))
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// check reads the parts of a result, and returns store.ErrDamaged if one is not as it was written.
func (f *found) check(ctx context.Context, sums []*control.Sum) error {
	parts, err := f.parts(ctx, sums)
	if err == nil {
		_, err = io.Copy(io.Discard, io.MultiReader(parts...))
	}
	return err
}

// sumOf is a Sum as a message has it.
func sumOf(s *control.Sum) store.Sum {
	return store.Sum{Bytes: int64(s.GetBytes()), CRC32C: s.GetCrc32C()}
}
