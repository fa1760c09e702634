package snapshot

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/internal/store"
)

// fileNames is the greatest number of names in a file, and maxNamesFiles the approximate number of
// files in the end; very many names need more.
const (
	fileNames     = 1 << 16
	maxNamesFiles = 4096
)

// namesFiles returns the files of a rank's names, which are not written yet.
func namesFiles(id string, vertices, rank int, x Index) []File {
	if x.Names == nil {
		return nil
	}
	var all []File
	each := max(fileNames, vertices/maxNamesFiles+1)
	for from := 0; from < x.Names.Len(); from += each {
		all = append(all, File{
			Name:  fmt.Sprintf("%s/names-%05d-%05d", id, rank, len(all)),
			Count: min(each, x.Names.Len()-from), First: x.FirstName + uint64(from),
		})
	}
	return all
}

// checkNames returns an error unless the files of names are consecutive from the first input id on.
func (m *Manifest) checkNames() error {
	next := uint64(0)
	for _, f := range m.Names {
		if f.First != next || f.Count <= 0 || uint64(f.Count) > uint64(m.Vertices)-next {
			return fmt.Errorf("%s: found %d names from %d on after %d, of %d vertices", f.Name,
				f.Count, f.First, next, m.Vertices)
		}
		next += uint64(f.Count)
	}
	if len(m.Names) > 0 && (m.Labels != "consecutive" || m.FirstLabel != 0) {
		return errors.New("found names of input ids that do not follow one another from 0")
	}
	return nil
}

// OpenNames returns a rank's range of the vertices' names: about an equal share, or all names for a
// single rank. It is nil if there are no names.
func (p *Place) OpenNames(ctx context.Context, rank, ranks int) (_ *names.Dictionary, err error) {
	defer mem.Recover(&err)
	if len(p.Names) == 0 {
		return nil, nil
	}
	from, to := edges.Part(len(p.Names), rank, ranks)
	b := new(names.Builder)
	for _, f := range p.Names[from:to] {
		if err := p.openNames(ctx, f, b); err != nil {
			return nil, err
		}
	}
	return b.Dictionary(), nil
}

// openNames adds the names in a file.
func (p *Place) openNames(ctx context.Context, f File, b *names.Builder) error {
	o := &opener{Place: p, arena: &mem.Arena{Kind: mem.Loading}}
	defer o.arena.Close()
	a, err := o.read(ctx, namesKind, f)
	if err != nil {
		return err
	}
	var piece []byte
	get(a, "names", "uint8", &piece)
	before := b.Len()
	if err = a.end(); err == nil {
		err = faultless(func() error { return b.AddPiece(piece) })
	}
	if n := b.Len() - before; err == nil && n != f.Count {
		err = fmt.Errorf("found %d names, expected %d", n, f.Count)
	}
	return store.At(p.Store, f.Name, err)
}
