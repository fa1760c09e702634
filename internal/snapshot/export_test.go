package snapshot

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/store"
)

// Forge calls change for every array of a file, and corrects the checksums.
func Forge(data []byte, change func(name string, array []byte) []byte) ([]byte, File, error) {
	f := File{Size: int64(len(data))}
	n, err := headLength(data, f)
	if err != nil {
		return nil, f, err
	}
	f.Header = crc32.Checksum(data[:start(n)], castagnoli)
	h, at, err := parseHead(data, f)
	if err != nil {
		return nil, f, err
	}
	m := &image{header: header{Kind: h.Kind, ID: h.ID, Partition: h.Partition, Count: h.Count}}
	for _, a := range h.Arrays {
		size := sizes[a.Type]
		array := change(a.Name, bytes.Clone(data[at+a.At:at+a.At+a.Length*size]))
		put(m, a.Name, a.Type, array[:int64(len(array))/size*size])
		m.header.Arrays[len(m.header.Arrays)-1].Length /= size
	}
	if err := m.finish(); err != nil {
		return nil, f, err
	}
	forged := make([]byte, m.size())
	if _, err := m.ReadAt(forged, 0); err != nil && err != io.EOF {
		return nil, f, err
	}
	return forged, File{Size: m.size(), Header: crc32.Checksum(m.head, castagnoli)}, nil
}

// ForgeFile changes a file of a snapshot in a directory, and updates the manifest.
func ForgeFile(dir, name string, change func(name string, array []byte) []byte) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	forged, f, err := Forge(data, change)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name), forged, 0o600); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		return err
	}
	m, err := parseManifest(text)
	if err != nil {
		return err
	}
	for i := range m.Parts {
		if m.Parts[i].Name == name {
			m.Parts[i].Size, m.Parts[i].Header = f.Size, f.Header
		}
	}
	for i := range m.Index {
		if m.Index[i].Name == name {
			m.Index[i].Size, m.Index[i].Header = f.Size, f.Header
		}
	}
	if text, err = m.Encode(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ManifestName), text, 0o600)
}

// RestorePart makes a graph from a single file, whatever size of the graph the file declares.
func RestorePart(ctx context.Context, s store.Store, f File, id string) (*graph.Graph, error) {
	arena := new(mem.Arena)
	o := &opener{Place: &Place{&Manifest{ID: id}, s}, arena: arena}
	a, err := o.read(ctx, partitionKind, f)
	if err == nil && a.header.Partition == nil {
		err = errors.New("it is no partition")
	}
	if err != nil {
		arena.Close()
		return nil, err
	}
	p := a.header.Partition
	g := &graph.Graph{N: p.Vertices, Directed: p.Directed, Weights: p.Weights, Options: graph.Options{Grid: p.Grid, Weights: p.Weights}}
	r, err := graph.NewRestorer(g, arena, nil)
	if err == nil {
		if err = faultless(func() error { return errors.Join(r.Partition(*p, a), a.end()) }); err == nil {
			if g, err = r.Graph(); err == nil {
				return g, nil
			}
		}
	}
	arena.Close()
	return nil, err
}

// IDOf returns the id in a file that Forge changed.
func IDOf(data []byte) string {
	n, err := headLength(data, File{Size: int64(len(data))})
	if err != nil {
		return ""
	}
	h, _, err := parseHead(data,
		File{Size: int64(len(data)), Header: crc32.Checksum(data[:start(n)], castagnoli)})
	if err != nil {
		return ""
	}
	return h.ID
}
