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

// stored is an entry of keptTable: the result of a job, or a column that a client sent.
type stored struct {
	id      string
	bytes   int64
	at      time.Time // when the job ended, or the client last sent data
	readers int       // number of users; it is kept while there are any

	// Of a result:
	job    *control.Job // nil if the manifest is damaged, or missing because the master stopped
	damage error        // store.ErrDamaged if the manifest is damaged

	// Of a column:
	file    sync.Mutex // held while writing the file
	partial bool       // incomplete
	gone    bool
}

// keptTable has the stored results or columns by id.
type keptTable struct {
	mu  sync.Mutex
	all map[string]*stored
}

// read protects an entry from removal until done is called. It returns nil if there is no such
// entry.
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

// readAll protects all complete entries from removal until done is called.
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

// total returns the bytes of all entries. The caller holds the lock.
func (t *keptTable) total() (n int64) {
	for _, k := range t.all {
		n += k.bytes
	}
	return n
}

// place is where results and columns are stored: the master's directory, or the place that masters
// share.
type place struct {
	store.Store
	called string // name in errors
	prefix string // of results' names
	depth  int    // slashes before the last element of results' names
}

// Names in a place.
const (
	columnsPrefix = columnsName + "/"
	// The manifest beside the parts of a result: its job as JSON, for later masters.
	manifestName = "job.json"
	maxManifest  = 8 << 20 // JSON is longer than the message
	partPrefix   = "part-" // of the names of parts
)

// jobName matches ids of jobs. Directories with other names are left alone.
var jobName = regexp.MustCompile(`^[0-9a-f]{4}-[0-9]+$`)

// found is a result or column found in a place.
type found struct {
	*place
	dir     string // prefix of the names of its objects
	objects map[string]store.Object
}

// results finds the results of one job, or of all jobs if job is empty. If a job has results of
// several terms, the latest counts.
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

// result finds the result of a job. The result has no objects if there is none.
func (p *place) result(ctx context.Context, job string) (*found, error) {
	all, err := p.results(ctx, job)
	if f := all[job]; f != nil {
		return f, err
	}
	return &found{place: p, dir: p.prefix + job + "/"}, err
}

// begins reports whether a result's first part exists. Removal of a result begins with this part.
func (f *found) begins() bool {
	_, ok := f.objects[partFile(0)]
	return ok
}

// column finds a column. The result has no objects if there is none.
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

// stored makes the entry of a result for keptTable.
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

// Sizes of reads. The readers of all parts of a result together read at most allPieces at once.
const (
	leastPiece = 64 << 10
	mostPiece  = 2 << 20
	allPieces  = 16 << 20
)

// open returns a reader of an object. It checks the length at once. The reader returns
// store.ErrDamaged instead of io.EOF if the checksum differs.
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

// check reads the parts of a result, and returns store.ErrDamaged if one is damaged.
func (f *found) check(ctx context.Context, sums []*control.Sum) error {
	parts, err := f.parts(ctx, sums)
	if err == nil {
		_, err = io.Copy(io.Discard, io.MultiReader(parts...))
	}
	return err
}

// sumOf converts a Sum of a message.
func sumOf(s *control.Sum) store.Sum {
	return store.Sum{Bytes: int64(s.GetBytes()), CRC32C: s.GetCrc32C()}
}
