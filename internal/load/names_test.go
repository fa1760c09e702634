package load_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
)

// TestNamesAreStored saves a graph with names from one process and from several ranks. It opens
// both in one process and in several ranks, with the same and with other partitions.
func TestNamesAreStored(t *testing.T) {
	var table strings.Builder
	for i := range 500 {
		fmt.Fprintf(&table, "\"Straße \"\"%d\"\"\",東京 %d\n", i%170, i*7%333)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "t.csv")
	if err := os.WriteFile(name, []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o := graph.Options{Grid: graph.Of(3)}
	want, in, err := load.Build(t.Context(), load.Request{Name: name}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	in.Close()
	place := filepath.Join(dir, "stored")
	s, err := store.OpenDir(place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	m, err := snapshot.Save(t.Context(), s, want, snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := (&snapshot.Place{Manifest: m, Store: s}).Open(t.Context(), place,
		snapshot.Options{}); err != nil {
		t.Error(err)
	} else {
		opened.Close()
	}
	for ranks := 1; ranks <= 4; ranks++ {
		for _, o := range []graph.Options{o, {Grid: graph.Of(ranks + 3)}} {
			for _, from := range []string{name, place} {
				all, _ := ranked(t, ranks, load.Request{Name: from}, o)
				again := resaved(t, all)
				names(t, want, all)
				g, in, err := load.Build(t.Context(), load.Request{Name: again},
					graph.Options{Grid: graph.Of(2), Weights: edges.Unweighted})
				if err != nil {
					t.Fatal(err)
				}
				in.Close()
				whole(t, want, g)
				g.Close()
				all, _ = ranked(t, ranks, load.Request{Name: again}, o)
				names(t, want, all)
			}
		}
	}
}

// TestGraphMLOfRanks: several ranks load the same graph from GraphML as one process. Its ids are
// names or numbers.
func TestGraphMLOfRanks(t *testing.T) {
	for _, prefix := range []string{"n", "1"} {
		var text strings.Builder
		text.WriteString(`<graphml><graph edgedefault="directed">`)
		for i := range 400 {
			fmt.Fprintf(&text, "<node id=\"%s%d\"/><edge source=\"%s%d\" target=\"%s%d\"/>\n",
				prefix, i*7, prefix, i*i%390*7, prefix, i*3%395*7)
		}
		text.WriteString("</graph></graphml>")
		file := filepath.Join(t.TempDir(), "a.graphml")
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		o := graph.Options{Grid: graph.Of(3)}
		want, in, err := load.Build(t.Context(), load.Request{Name: file}, o)
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		for ranks := 1; ranks <= 4; ranks++ {
			all, _ := ranked(t, ranks, load.Request{Name: file}, o)
			if prefix == "n" {
				names(t, want, all)
			} else {
				agree(t, want, all)
			}
		}
		want.Close()
	}
}

// names checks the names in all ranks.
func names(t *testing.T, want *graph.Graph, all []loaded) {
	t.Helper()
	next := uint64(0)
	for rank, l := range all {
		own, first := l.d.Names.Share()
		if l.d.Names.Len() != uint64(want.N) || first != next {
			t.Fatalf("rank %d has names from %d on of %d, expected from %d of %d", rank, first,
				l.d.Names.Len(), next, want.N)
		}
		for i := range uint64(own.Len()) {
			if own.Name(i) != want.Names.Name(first+i) {
				t.Fatalf("name %d is %q, expected %q", first+i, own.Name(i),
					want.Names.Name(first+i))
			}
		}
		next += uint64(own.Len())
	}
	if next != uint64(want.N) {
		t.Fatalf("%d names, expected %d", next, want.N)
	}
}

func whole(t *testing.T, want, got *graph.Graph) {
	t.Helper()
	if got.Names == nil || got.Names.Len() != want.N {
		t.Fatalf("names %v, expected %d", got.Names, want.N)
	}
	for i := range uint64(want.N) {
		if got.Names.Name(i) != want.Names.Name(i) {
			t.Fatalf("name %d is %q, expected %q", i, got.Names.Name(i), want.Names.Name(i))
		}
	}
}

// TestDamagedNames: files of names that do not match the manifest are refused, and manifests whose
// files are not consecutive.
func TestDamagedNames(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "t.csv")
	if err := os.WriteFile(name, []byte("from,to\nAda,Grace\nEdsger,Ada\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, in, err := load.Build(t.Context(), load.Request{Name: name}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	in.Close()
	place := filepath.Join(dir, "stored")
	s, err := store.OpenDir(place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	m, err := snapshot.Save(t.Context(), s, g, snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(place, m.Names[0].Name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []func(m *snapshot.Manifest, data []byte){
		func(_ *snapshot.Manifest, data []byte) { data[len(data)-1]++ },
		func(m *snapshot.Manifest, _ []byte) { m.Names[0].Count-- },
		func(m *snapshot.Manifest, _ []byte) {
			f := m.Index[0]
			f.First = 0
			m.Names[0] = f
		},
	} {
		changed, bad := *m, append([]byte(nil), data...)
		changed.Names = append([]snapshot.File(nil), m.Names...)
		wrong(&changed, bad)
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (&snapshot.Place{Manifest: &changed, Store: s}).OpenNames(t.Context(), 0,
			1); err == nil {
			t.Errorf("%+v: opened", changed.Names)
		}
	}
}
