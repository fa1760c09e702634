package snapshot_test

import (
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
)

// BenchmarkSnapshot saves a graph and opens it, mapped into memory and read.
func BenchmarkSnapshot(b *testing.B) {
	team := parallel.NewTeam(2, true)
	defer team.Close()
	o := snapshot.Options{Team: team}
	for _, scale := range []int{16, 20} {
		in, err := generate.Input(b.Context(),
			generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3},
			generate.Options{Team: team})
		if err != nil {
			b.Fatal(err)
		}
		g, err := build.Local(b.Context(), in, graph.Options{Partitions: 2, Team: team})
		in.Close()
		if err != nil {
			b.Fatal(err)
		}
		var m *snapshot.Manifest
		var s store.Store
		b.Run(fmt.Sprintf("save/scale=%d", scale), func(b *testing.B) {
			for b.Loop() {
				s = openStore(b, b.TempDir())
				if m, err = snapshot.Save(b.Context(), s, g, o); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(m.Bytes)
		})
		s = openStore(b, b.TempDir())
		if m, err = snapshot.Save(b.Context(), s, g, o); err != nil {
			b.Fatal(err)
		}
		for name, from := range map[string]store.Store{"map": s, "read": unmapped{s}} {
			b.Run(fmt.Sprintf("%s/scale=%d", name, scale), func(b *testing.B) {
				for b.Loop() {
					opened, err := (&snapshot.Place{Manifest: m, Store: from}).Open(b.Context(), "k", o)
					if err != nil {
						b.Fatal(err)
					}
					opened.Close()
				}
				b.SetBytes(m.Bytes)
			})
		}
		g.Close()
	}
}
