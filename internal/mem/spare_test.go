//go:build linux

package mem

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/parallel"

	"github.com/superstep-go/superstep/internal/invariants"
)

// keep makes an array in an arena with a parent, fills it, and leaves it to the parent.
func keep(parent *Arena, b *Budget, n int) *uint64 {
	a := &Arena{Kind: Columns, Budget: b, Parent: parent}
	s := Make[uint64](a, n)
	for i := range s {
		s[i] = 7
	}
	a.Keep()
	return &s[0]
}

func TestSpares(t *testing.T) {
	const n = 1 << 14
	b, parent := budgetOf(1<<30, ""), &Arena{Kind: Graph}
	defer parent.Close()
	first := keep(parent, b, n)
	a := &Arena{Kind: Columns, Budget: b, Parent: parent}
	s := MakeAny[uint64](a, n)
	if &s[0] != first {
		t.Error("an array of the same size is another")
	}
	s[5] = 7
	a.Keep()
	a.Keep() // an empty arena leaves nothing, and does not remove earlier spares
	for _, other := range []*Arena{
		{Kind: Columns, Budget: b}, {Kind: Columns, Budget: b, Parent: &Arena{}},
	} {
		if s := Make[uint64](other, n); &s[0] == first {
			t.Error("an arena without the parent got the array")
		}
		other.Close()
	}
	if s := Make[uint64](a, n+1); &s[0] == first {
		t.Error("an array of another size is the same")
	}
	s = Make[uint64](a, n)
	if &s[0] != first {
		t.Error("a zeroed array of the same size is another")
	}
	for i, x := range s {
		if x != 0 {
			t.Fatalf("element %d is %d", i, x)
		}
	}
	if u := b.Use(); u.Memory != 8*(n+n+1) || len(u.Kinds) != 1 {
		t.Errorf("%v of two arrays", u)
	}
	a.Close()
	if u := b.Use(); u.Memory != 0 || spares.bytes.Load() != 0 {
		t.Errorf("arrays that were taken and freed are held: %v", u)
	}
}

// TestSparesAreBounded: many arenas that are closed at the same time leave only the arrays of one
// of them. Closing the parent frees these, and later arenas leave nothing.
func TestSparesAreBounded(t *testing.T) {
	const n = 1 << 14
	b, parent := budgetOf(1<<30, ""), &Arena{Kind: Graph}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				keep(parent, b, n)
			}
		})
	}
	all.Wait()
	if u, bytes := b.Use(), spares.bytes.Load(); u.Memory != 0 || bytes != 8*n {
		t.Errorf("%v and %d spare bytes", u, bytes)
	}
	parent.Close()
	if bytes := spares.bytes.Load(); bytes != 0 || len(spares.of) != 0 {
		t.Errorf("the parent is closed, and there are %d spare bytes", bytes)
	}
	keep(parent, b, n)
	if u, bytes := b.Use(), spares.bytes.Load(); u.Memory != 0 || bytes != 0 {
		t.Errorf("a closed parent keeps: %v and %d spare bytes", u, bytes)
	}
}

// TestSparesWithoutABudget: spares take at most a fraction of the available memory.
func TestSparesWithoutABudget(t *testing.T) {
	parent := &Arena{Kind: Graph}
	defer parent.Close()
	if most := mostSpare(); most <= 8<<14 || most > Available()/4 {
		t.Errorf("spares may take %d bytes", most)
	}
	defer func(most func() int64) { mostSpare = most }(mostSpare)
	mostSpare = func() int64 { return 8<<15 - 1 }
	for _, n := range []int{1 << 14, 1 << 15, 1 << 14} {
		if keep(parent, nil, n); spares.bytes.Load() != 8<<14 {
			t.Errorf("%d bytes of at most %d are kept", spares.bytes.Load(), mostSpare())
		}
	}
}

// TestSparesAreGivenBack: spares are freed for anything that needs the memory, and count as free
// until then.
func TestSparesAreGivenBack(t *testing.T) {
	const hard, kept = 8 << 20, 3 << 20
	b, parent := budgetOf(hard, ""), &Arena{Kind: Graph}
	defer parent.Close()
	for name, need := range map[string]func(){
		"an array": func() {
			a := &Arena{Kind: Graph, Budget: b}
			Make[uint64](a, 7<<20/8)
			a.Close()
		},
		"a look at what is tight": func() { b.Tight(2 << 20) },
		"a load":                  func() { Room() },
		"the watcher":             func() { budgetOf(1, "").look(time.Now()) },
		"an array that there is no memory for": func() {
			var err error
			func() {
				defer Recover(&err)
				Make[byte](&Arena{Kind: Graph}, 1<<50)
			}()
			if err == nil {
				t.Error("2^50 bytes were given")
			}
		},
	} {
		keep(parent, b, kept/8)
		if bytes := spares.bytes.Load(); bytes != kept {
			t.Fatalf("%s: %d spare bytes", name, bytes)
		}
		u := b.Use()
		if free, room := b.Free(), b.Room(); u.Memory != 0 || free != hard || room != hard {
			t.Errorf("%v, %d bytes are free, and there is room for %d", u, free, room)
		}
		if need(); spares.bytes.Load() != 0 {
			t.Errorf("%s: %d bytes are spare yet", name, spares.bytes.Load())
		}
	}
	if keep(parent, b, 5<<20/8); spares.bytes.Load() != 0 {
		t.Error("a tight budget keeps spares")
	}
}

// TestSparesEndNoRun: the watcher frees spares before it ends runs.
func TestSparesEndNoRun(t *testing.T) {
	const kept = 64 << 20
	parent := &Arena{Kind: Graph}
	defer parent.Close()
	if keep(parent, nil, kept/8); spares.bytes.Load() != kept {
		t.Skip("there is little memory")
	}
	b := budgetOf(Anonymous()-kept/2, "")
	b.OnOver(func(err error) error {
		t.Error(err)
		return err
	})
	b.Last = func(err error) { t.Error("the process ends:", err) }
	if b.look(time.Now()); spares.bytes.Load() != 0 {
		t.Error("they are there yet")
	}
}

// TestMappedFilesAreNotKept: mapped files are never spares, because they cannot be written to.
func TestMappedFilesAreNotKept(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 17); err != nil {
		t.Fatal(err)
	}
	parent := &Arena{Kind: Graph}
	defer parent.Close()
	a := &Arena{Parent: parent}
	if _, err := Map(a, f, 1<<17); err != nil {
		t.Fatal(err)
	}
	if a.Keep(); spares.bytes.Load() != 0 {
		t.Errorf("%d bytes are kept", spares.bytes.Load())
	}
}

// TestMakeAnyIsNotZero: with -tags invariants MakeAny fills arrays with a pattern, which exposes
// reads before writes.
func TestMakeAnyIsNotZero(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("built without -tags invariants")
	}
	for _, n := range []int{5, 1 << 14} {
		a := new(Arena)
		if s := MakeAny[uint64](a, n); s[0] == 0 || s[n-1] == 0 {
			t.Errorf("of %d elements some are zero", n)
		}
		a.Close()
	}
}

// TestHandOver: an array that is handed over outlives its arena. When nothing uses it, it becomes a
// spare, beside those of Keep, and counts until a later arena has it or it is freed.
func TestHandOver(t *testing.T) {
	const n = 1 << 14
	parent := &Arena{Kind: Graph}
	defer parent.Close()
	job := func() (s []uint64, owner *Owner, ok bool) {
		a := &Arena{Kind: Columns, Parent: parent}
		s = MakeAny[uint64](a, n)
		for i := range s {
			s[i] = 7
		}
		Make[uint64](a, n+1)
		owner, ok = HandOver(a, s)
		a.Keep()
		return s, owner, ok
	}
	s, owner, ok := job()
	if other := keep(parent, nil, n); !ok || owner == nil || other == &s[0] {
		t.Fatal("the array is not handed over")
	}
	for i, x := range s {
		if x != 7 {
			t.Fatalf("element %d is %d", i, x)
		}
	}
	if bytes := spares.handed.Load(); bytes != 8*n {
		t.Errorf("%d bytes are handed over", bytes)
	}
	runtime.KeepAlive(owner)
	owner = nil
	spare := func() bool { return spares.bytes.Load() == 8*(n+n) }
	for range 1000 {
		if runtime.GC(); spare() {
			break
		}
		if err := parallel.Sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if !spare() {
		t.Fatalf("%d bytes are spare", spares.bytes.Load())
	}
	if keep(parent, nil, n-1); spares.bytes.Load() != 8*(n+n-1) {
		t.Error("Keep has freed the array that was handed over")
	}
	if again, owner, ok := job(); !ok || &again[0] != &s[0] || owner == nil {
		t.Error("the next arena has another array")
	}
	freeSpares()
	parent.Close()
}

// TestHandOverIsBounded: at most mostSpare bytes are handed over, and none that a budget counts, or
// without a parent. Arrays on Go's heap need no owner.
func TestHandOverIsBounded(t *testing.T) {
	defer func(most func() int64) { mostSpare = most }(mostSpare)
	const n = 1 << 14
	before := spares.handed.Load()
	mostSpare = func() int64 { return before + 8*n - 1 }
	parent := &Arena{Kind: Graph}
	defer parent.Close()
	for name, a := range map[string]*Arena{
		"too many bytes":  {Parent: parent},
		"a budget":        {Parent: parent, Budget: budgetOf(1<<30, "")},
		"no other arenas": {},
	} {
		if owner, ok := HandOver(a, Make[uint64](a, n)); ok || owner != nil {
			t.Errorf("%s: an array is handed over", name)
		}
		if owner, ok := HandOver(a, Make[uint64](a, 5)); !ok || owner != nil {
			t.Errorf("%s: a small array is not handed over", name)
		}
		a.Close()
	}
}

// TestHandOverAfterTheBound: after arrays could not be handed over, those that are unreachable make
// room for arrays of the same size, of another size and of another parent.
func TestHandOverAfterTheBound(t *testing.T) {
	defer func(most func() int64) { mostSpare = most }(mostSpare)
	const n = 1 << 14
	freeSpares()
	before := spares.handed.Load()
	mostSpare = func() int64 { return 4*8*n + before }
	job := func(parent *Arena, n int) (*Owner, bool) {
		a := &Arena{Kind: Columns, Parent: parent}
		owner, ok := HandOver(a, MakeAny[uint64](a, n))
		a.Keep()
		return owner, ok
	}
	first, other := &Arena{Kind: Graph}, &Arena{Kind: Graph}
	defer first.Close()
	defer other.Close()
	var owners []*Owner
	for i := range 5 {
		owner, ok := job(first, n)
		if owners = append(owners, owner); ok != (i < 4) {
			t.Fatalf("array %d is handed over: %t", i, ok)
		}
	}
	runtime.KeepAlive(owners)
	owners = nil
	for range 1000 {
		if runtime.GC(); spares.bytes.Load() >= 4*8*n {
			break
		}
		if err := parallel.Sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for i, next := range []struct {
		parent *Arena
		n      int
	}{{first, n}, {first, 2 * n}, {other, n}} {
		owner, ok := job(next.parent, next.n)
		if !ok {
			t.Errorf("job %d: the array is not handed over", i)
		}
		runtime.KeepAlive(owner)
	}
	if bytes := spares.handed.Load() - before; bytes < 0 || bytes > 4*8*n {
		t.Errorf("%d bytes are handed over", bytes)
	}
}
