package library_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
)

// TestNamesOfAConnection: a graph on a cluster finds and returns names like a graph in this
// process. A parameter may also be an input id.
func TestNamesOfAConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "streets.csv")
	table := "from,to\n\"Rue de Rivoli\",Châtelet\nChâtelet,\"Quai, 7e\"\n東京,Bastille\nBastille,Châtelet\n"
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := superstep.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	_, conn := connected(t)
	there, err := conn.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	for _, name := range []string{"Rue de Rivoli", "Châtelet", "Quai, 7e", "東京", "Bastille"} {
		want, ok := here.Named(name)
		got, found := there.Named(name)
		if got != want || !ok || !found || there.Name(got) != name {
			t.Errorf("%q is vertex %d, %t, and %q on the cluster, expected %d", name, got, found,
				there.Name(got), want)
		}
	}
	if id, ok := there.Named("Paris"); ok || id != pregel.None {
		t.Errorf("Paris is vertex %d", id)
	}
	source, _ := there.Named("東京")
	res, err := superstep.Run(t.Context(), there, algorithms.BFS{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	bastille, _ := here.Named("Bastille")
	if parent, ok := res.At(here.Label(bastille)); !ok || there.Name(parent) != "東京" {
		t.Errorf("the parent of Bastille is %v, %t", parent, ok)
	}
	there.Close()
	if _, ok := there.Named("Bastille"); ok {
		t.Error("a graph that is closed has names")
	}
}
