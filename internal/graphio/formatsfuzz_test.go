package graphio

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// isText reports whether a text is read without decompression, and not refused as binary data.
func isText(text string) bool {
	return codecOf([]byte(text)) == plain && !isBinary([]byte(text))
}

// wantSlow compares the result of reading with the result of the slow parser.
func wantSlow(t *testing.T, in *edges.Input, err error, want graph, ok bool) {
	t.Helper()
	if (err == nil) != ok {
		t.Fatalf("error %v, the slow parser reads it: %t", err, ok)
	}
	if err == nil {
		same(t, plainly(t, in), want)
		in.Close()
	}
}

func FuzzJSONLines(f *testing.F) {
	for _, text := range []string{
		`{"source": 1, "target": 2}` + "\n",
		`{"source":"a","target":"\u00e9\"","weight":-1.5e3,"x":[{"y":[null,true]}]}` + "\r\n\n" +
			`{"target":7,"source":"7","weight":"0.5"}`,
		`{"source":01,"target":2}`, `{"source":1,"target":2}}`,
		`{"source":1,"source":1,"target":2}`, "\xef\xbb\xbf{\"source\":1,\"target\":\"\\ud800\"}",
		"{\"source\":1,\"target\":\"\xff\"}", `[]`, `{"source":1e2,"target":-0}`,
	} {
		for flags := range byte(4) {
			f.Add(text, flags, byte(9))
		}
	}
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, text string, flags, piece byte) {
		if strings.Count(text, "[")+strings.Count(text, "{") > jsonDepth ||
			!isText(text) {
			return
		}
		named, weighted := flags&1 == 1, flags&2 == 2
		o := ReadOptions{Format: JSONLines, Weights: edges.Float64, Team: team, Columns: Columns{Source: "source", Target: "target", IDs: IDKinds[flags&1]}}
		if weighted {
			o.Columns.Weight = "weight"
		} else if strings.Contains(text, "w") || strings.Contains(text, "cost") ||
			strings.Contains(text, "dist") || strings.Contains(text, "len") ||
			strings.Contains(text, `\`) {
			return // a weight that is found by its usual name
		}
		want, ok := slowJSONLines(text, named, weighted)
		in, err := read(put(t, "a", text), int(piece)+1, o)
		if (err == nil) != ok {
			t.Fatalf("error %v, the slow parser reads it: %t", err, ok)
		}
		if err == nil {
			if got := describe(t, in); got != strings.Join(want, " ") {
				t.Fatalf("%s\nwant %s", got, want)
			}
			in.Close()
		}
	})
}

func FuzzGiraph(f *testing.F) {
	for _, text := range []string{
		"[1,0,[[2,1.5],[1,0]]]\n[2,{\"a\":[]},[]]\n", "[1,0,[[2,1]]]",
		"[\"7\",null,[[7,\"2\"]]]\r\n\n", "[1,0,[]]\n[1,0,[]]", "[1,0,[[1,1e999]]]", "[1,0]",
		"[1,0,[],2]", "[1,0,null]",
	} {
		f.Add(text, byte(9))
	}
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, text string, piece byte) {
		if strings.Count(text, "[")+strings.Count(text, "{") > jsonDepth ||
			!isText(text) {
			return
		}
		want, ok := slowGiraph(text)
		in, err := read(put(t, "a", text), int(piece)+1,
			ReadOptions{Format: Giraph, Weights: edges.Float64, Team: team})
		wantSlow(t, in, err, want, ok)
	})
}

func FuzzDIMACS(f *testing.F) {
	for _, text := range []string{
		"c x\np sp 3 2\na 1 2 5\na 3 3 -1.5\n", "p edge 3 1\r\nn 1 2\ne\t1 2",
		"p col 1048577 1\ne 1 1", "p sp 3 1\na 1 4 1", "p sp 2 1\na 1 2 1 1",
		"p sp 2 1\na 1 2 12345678\nc", "\np sp 1 0", "p sp 1 1\na 1 +1 1",
	} {
		f.Add(text, byte(9))
	}
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, text string, piece byte) {
		if !isText(text) {
			return
		}
		want, ok := slowDIMACS(text)
		in, err := read(put(t, "a", text), int(piece)+1,
			ReadOptions{Format: DIMACS, Weights: edges.Float64, Team: team})
		wantSlow(t, in, err, want, ok)
	})
}

func FuzzMETIS(f *testing.F) {
	for _, text := range []string{
		"% c\n3 2\n2\n% d\n1 3\n2\n\n", "2 1 001\n2 5\n1 5", "2 1 111 2\r\n1 2 3 2 5\n1 2 3 1 5",
		"3 1\n2\n1\n", "2 1\n2\n2\n", "4 4\n2 3\n1 1\n1 4\n3", "1 0\n\nx", "2 2\n2 2\n1 1\n",
	} {
		f.Add(text, byte(9), byte(2))
		f.Add(text, byte(1), byte(3))
	}
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, text string, piece, ranks byte) {
		if !isText(text) {
			return
		}
		want, ok := slowMETIS(text)
		path := put(t, "a", text)
		o := ReadOptions{Format: METIS, Weights: edges.Float64, Team: team}
		in, err := read(path, int(piece)+1, o)
		wantSlow(t, in, err, want, ok)
		got, err := joined(t, path, 1+int(ranks%4), int(piece)+1, o)
		if (err == nil) != ok {
			t.Fatalf("by parts %v, the slow parser reads it: %t", err, ok)
		}
		if ok {
			same(t, got, want)
		}
	})
}

func FuzzSerialized(f *testing.F) {
	f.Add([]byte(serializedText(0, []int64{0, 1, 3, 4, 4}, []int32{1, 0, 2, 1})), false, byte(9))
	f.Add([]byte(serializedText(1, []int64{0, 2, 3}, []int32{1, 0, 0})+
		serializedText(1, []int64{0, 2, 3}, []int32{0, 1, 0})[17:]), false, byte(1))
	f.Add([]byte(serializedText(0, []int64{0, 1, 2}, []int32{1, -7, 0, -7})), true, byte(3))
	f.Add([]byte(serializedText(0, []int64{0, 2, 1, 3}, []int32{0, 0, 0})), false, byte(2))
	team := team(f, 3)
	f.Fuzz(func(t *testing.T, data []byte, weighted bool, piece byte) {
		format := Serialized
		if weighted {
			format = SerializedW
		}
		want, ok := slowSerialized(data, weighted)
		path := put(t, "a", string(data))
		o := ReadOptions{Format: format, Weights: edges.Float64, Team: team}
		in, err := read(path, int(piece)+1, o)
		if codecOf(data) != plain {
			return
		}
		wantSlow(t, in, err, want, ok)
		if ok {
			got, err := joined(t, path, 3, int(piece)+1, o)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
		}
	})
}

// FuzzGraphML has no slow counterpart. It reads a file as a whole and in parts: the result is a
// graph whose edges join its nodes, or an error.
func FuzzGraphML(f *testing.F) {
	for _, text := range []string{
		graphmlHead +
			`<graph edgedefault="undirected"><node id="n0"/><node id="n1"/><edge source="n1" target="n0"><data key="d0">1</data></edge></graph></graphml>`,
		`<graphml><graph edgedefault="directed"><edge source="10" target="9"/><node id="9"/><node id="10"/></graph></graphml>`,
		`<graphml><key id="k" for="all" attr.name="w"><default> 4 </default></key><graph edgedefault="directed"><node id="1"><port/></node><edge source="1" target="1"/></graph></graphml>`,
		`<!DOCTYPE a [<!ENTITY b "c">]><graphml>&b;</graphml>`,
		`<graphml><![CDATA[x]]><?php ?></graphml>`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := put(t, "a", text)
		in, err := read(path, pieceSize,
			ReadOptions{Format: GraphML, Weights: edges.Float64, MaxExpand: 1 << 20})
		if err != nil {
			if !strings.HasPrefix(err.Error(), path) && codecOf([]byte(text)) == plain {
				t.Fatalf("an error that does not name the file: %v", err)
			}
			return
		}
		defer in.Close()
		g := plainly(t, in)
		if !slices.IsSorted(g.vertices) || len(g.vertices) == 0 {
			t.Fatalf("vertices %v", cut(g.vertices))
		}
		for _, e := range g.tuples {
			if !slices.Contains(g.vertices, e[0]) || !slices.Contains(g.vertices, e[1]) {
				t.Fatalf("edge %v", e)
			}
		}
		if codecOf([]byte(text)) == plain {
			got, err := joined(t, path, 1+len(text)%4, pieceSize,
				ReadOptions{Format: GraphML, Weights: edges.Float64})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, g)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOtherShares: the parts of random files in other formats have the same edges and errors as the
// whole.
func TestOtherShares(t *testing.T) {
	team := team(t, 3)
	for seed := range rounds(120, 60, 40) {
		rng := rand.New(rand.NewPCG(seed, 21))
		directed, weighted := rng.IntN(2) == 0, rng.IntN(2) == 0
		endings := []string{".csv", ".jsonl.gz", ".sg", ".parquet"}
		if !directed {
			endings = append(endings, ".metis", ".metis.zst", ".col")
		}
		ending := endings[rng.IntN(len(endings))]
		in := randomInput(rng, 2+rng.IntN(2000), directed, weighted,
			!strings.Contains(ending, "metis"))
		path := put(t, "a"+ending, "")
		if err := Write(context.Background(), path, in, WriteOptions{Team: team}); err != nil {
			t.Fatal(err)
		}
		in.Close()
		if data, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		} else if rng.IntN(3) == 0 && ending != ".parquet" { // change one byte
			data[rng.IntN(len(data))] = "0 \n9\x00x"[rng.IntN(6)]
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		o := ReadOptions{Team: team, Weights: edges.Weights(rng.IntN(3))}
		if ending == ".csv" { // a number with a leading zero would be a name
			o.Columns.IDs = "number"
		}
		wantJoinedError(t, path, 1+rng.IntN(5), 1+rng.IntN(3000), o)
	}
}

// wantJoinedError is wantJoined, but with several faults either may be reported.
func wantJoinedError(t *testing.T, path string, ranks, piece int, o ReadOptions) {
	t.Helper()
	in, wrong := read(path, piece, o)
	got, err := joined(t, path, ranks, piece, o)
	if (err == nil) != (wrong == nil) {
		t.Fatalf("%s: %d ranks, pieces of %d: error %v, of the whole %v", path, ranks, piece, err,
			wrong)
	}
	if err == nil {
		same(t, got, plainly(t, in))
		in.Close()
	}
}
