package master

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// place is where results and columns are stored: the master's directory, or the place that masters
// share.
type place struct {
	store.Store
	called string // name in errors
	prefix string // of results' names
}

// Names in a place.
const (
	columnsPrefix = columnsName + "/"
	partPrefix    = "part-" // of the names of parts
)

// jobName matches ids of jobs. Directories with other names are left alone.
var jobName = regexp.MustCompile(`^[0-9a-f]{4}-[0-9]+$`)

// found is a result or column found in a place.
type found struct {
	*place
	dir     string // prefix of the names of its objects
	objects map[string]store.Object
}

// result finds the result of a job's last attempt. It has no objects if there is no result.
func (p *place) result(ctx context.Context, job string) (*found, error) {
	f := &found{p, p.prefix + job + "/", map[string]store.Object{}}
	for o, err := range p.List(ctx, f.dir) {
		if err != nil {
			return f, err
		}
		dir, file := path.Split(o.Name)
		if dir < f.dir || !strings.HasPrefix(file, partPrefix) {
			continue
		}
		if dir > f.dir {
			f = &found{p, dir, map[string]store.Object{}}
		}
		f.objects[file] = o
	}
	return f, nil
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

// Sizes of reads. The readers of all parts of a result together read at most allPieces at once.
const (
	leastPiece = 64 << 10
	mostPiece  = 2 << 20
	allPieces  = 16 << 20
)

// open returns a reader of an object. It checks the length at once. The reader returns
// store.ErrDamaged instead of io.EOF if the checksum differs.
func (f *found) open(
	ctx context.Context, file string, want store.Sum, piece int,
) (io.Reader, error) {
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
		want := store.Sum{Bytes: int64(sum.GetBytes()), CRC32C: sum.GetCrc32C()}
		r, err := f.open(ctx, partFile(i), want,
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
