package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

// part returns a part of a checkpoint with this number of vertices.
func part(superstep, partition, of, vertices int) *Part {
	p := &Part{Partition: partition, Of: of, Superstep: superstep, Vertices: vertices, Print: uint64(partition + 1)}
	rng := rand.New(rand.NewPCG(uint64(superstep), uint64(partition)))
	values := make([]byte, 8*vertices)
	for i := range values {
		values[i] = byte(rng.Uint32() >> (i % 8 * 3)) // some of it is compressible
	}
	p.Add("values", values)
	p.Add("active", make([]byte, vertices/8))
	p.Add("nothing", nil)
	return p
}

// TestSmallPartsMakeLittleGarbage: the memory allocated for a part is proportional to its size.
func TestSmallPartsMakeLittleGarbage(t *testing.T) {
	const parts = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range parts {
		data, err := encode(part(3, 1, 4, 100))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(data); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if bytes := (after.TotalAlloc - before.TotalAlloc) / parts; bytes > 100<<10 {
		t.Errorf("%d bytes for a part of 100 vertices", bytes)
	}
}

func TestAPartIsReadAsItWasWritten(t *testing.T) {
	for _, vertices := range []int{0, 1, 1000, 1 << 19} {
		data, err := encode(part(3, 1, 4, vertices))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(data)
		if err != nil {
			t.Fatal(err)
		}
		want := part(3, 1, 4, vertices)
		for i := range want.Sections {
			if string(got.Sections[i].Data) != string(want.Sections[i].Data) {
				t.Fatalf("%d vertices: section %s differs", vertices, want.Sections[i].Name)
			}
			got.Sections[i].Data, want.Sections[i].Data = nil, nil
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("found %+v, expected %+v", got, want)
		}
	}
}

// TestFlushAfterClose: Flush does not wait for parts that were given up, or that are added later.
func TestFlushAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		place := &storetest.View{Memory: new(storetest.Memory), Trouble: func(ctx context.Context,
			_, _ string, _ bool,
		) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		w := NewWriter(place, "run")
		for i := range 30 {
			w.Write(part(i, 0, 1, 10))
		}
		synctest.Wait() // until it stores the first part, which never ends
		w.Close()
		began := time.Now()
		if w.Flush(); time.Since(began) > 0 {
			t.Errorf("it waited for %v", time.Since(began))
		}
		w.Write(part(3, 0, 1, 10))
		if w.Flush(); time.Since(began) > 0 {
			t.Errorf("the flush of a later write waited for %v", time.Since(began))
		}
	})
}

func FuzzDecode(f *testing.F) {
	data, err := encode(part(3, 1, 4, 100))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = decode(data) })
}

func FuzzManifest(f *testing.F) {
	m := &Manifest{Format: Format, Superstep: 3, Parts: []Stored{{Name: "part-1"}}}
	text, err := store.Encode(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = parseManifest(data) })
}

// keep makes a checkpoint of two parts.
func keep(t *testing.T, s store.Store, k *Keeper, superstep int) {
	t.Helper()
	w := NewWriter(s, "run")
	defer w.Close()
	k.Expect(&Manifest{Superstep: superstep, Program: Program{Name: "p"}}, 2)
	for i := range 2 {
		w.Write(part(superstep, i, 2, 100))
	}
	w.Flush()
	if err := k.Stored(w.Stored()); err != nil {
		t.Fatal(err)
	}
	k.work.Wait()
	if err := k.Stored(nil); err != nil {
		t.Fatal(err)
	}
	k.work.Wait()
}

func openDir(t *testing.T) (store.Store, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := store.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func names(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		all = append(all, f.Name())
	}
	return strings.Join(all, " ")
}

func TestOlderCheckpointsArePruned(t *testing.T) {
	s, dir := openDir(t)
	k := NewKeeper(s, Policy{Every: 1}, 0, func(text string) { t.Error(text) }, func(Event) {})
	for superstep := 1; superstep <= 4; superstep++ {
		keep(t, s, k, superstep)
	}
	want := "checkpoint-000000003.json checkpoint-000000004.json part-000000003-run-00000-of-00002 part-000000003-run-00001-of-00002 " +
		"part-000000004-run-00000-of-00002 part-000000004-run-00001-of-00002"
	if got := names(t, dir); got != want {
		t.Fatalf("found %s, expected %s", got, want)
	}
	k.Close(true)
	if got := names(t, dir); got != "" {
		t.Fatalf("found %s at the end of a run that is done", got)
	}
}

// A changed byte anywhere in a checkpoint is detected, and the previous checkpoint is used.
func TestABrokenCheckpointIsFound(t *testing.T) {
	s, dir := openDir(t)
	k := NewKeeper(s, Policy{Every: 1}, 0, func(text string) { t.Error(text) }, func(Event) {})
	keep(t, s, k, 1)
	keep(t, s, k, 2)
	k.Close(false)
	use := func() (*Manifest, error) {
		m, err := Find(t.Context(), s, "", func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		return m, (&Reader{Store: s, Manifest: m}).Verify(t.Context())
	}
	if m, err := use(); err != nil || m.Superstep != 2 {
		t.Fatal(m.Superstep, err)
	}
	broke := 0
	for _, name := range []string{"checkpoint-000000002.json", "part-000000002-run-00000-of-00002", "part-000000002-run-00001-of-00002"} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, data []byte) {
			t.Helper()
			broke++
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if m, err := use(); err != nil || m.Superstep != 1 {
				t.Fatalf("%s, %s: found that before superstep %d, %v; expected the one before",
					name, what, m.Superstep, err)
			}
		}
		for i := range whole {
			other := append([]byte(nil), whole...)
			other[i] ^= 1 << (i % 8)
			try(fmt.Sprintf("bit %d of byte %d", i%8, i), other)
		}
		for n := 0; n < len(whole); n += 7 {
			try(fmt.Sprintf("cut to %d bytes", n), whole[:n])
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if m, err := use(); err != nil || m.Superstep != 1 {
			t.Fatalf("%s is missing: found that before superstep %d, %v; expected the one before",
				name, m.Superstep, err)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d broken checkpoints, all found", broke)
}

// full is a store that fails to store while full is true.
type full struct {
	store.Store
	full bool
}

func (f *full) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	if f.full {
		return errors.New("no space left")
	}
	return f.Store.Put(ctx, name, data, size)
}

func TestACheckpointThatFailsIsToldAndTheLastStays(t *testing.T) {
	for _, strict := range []bool{false, true} {
		place, _ := openDir(t)
		s := &full{Store: place}
		var told []string
		k := NewKeeper(s, Policy{Every: 1, Strict: strict}, 0,
			func(text string) { told = append(told, text) }, func(Event) {})
		k.Begin(0)
		keep(t, s, k, 1)
		s.full = true
		w := NewWriter(s, "run")
		for superstep := 2; superstep <= 3; superstep++ {
			if !k.Due(superstep) {
				t.Fatalf("none is due before superstep %d", superstep)
			}
			k.Expect(&Manifest{Superstep: superstep}, 1)
			w.Write(part(superstep, 0, 1, 10))
			w.Flush()
			if err := k.Stored(w.Stored()); (err != nil) != (strict && superstep == 3) {
				t.Fatalf("strict %t, superstep %d: %v", strict, superstep, err)
			}
		}
		w.Close()
		k.Close(false)
		if len(told) == 0 || !strings.Contains(told[0],
			"the checkpoint before superstep 2 was not stored, and the run goes on: partition 0: no space left") {
			t.Fatalf("messages: %q", told)
		}
		if m, err := Find(t.Context(), s, "", func(string) {}); err != nil || m.Superstep != 1 {
			t.Fatal(m, err)
		}
	}
}

func TestWhenACheckpointIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{MTBF: 1000 * time.Second}
		k := NewKeeper(nil, p, 2*bytesASecond, nil, nil) // a checkpoint is assumed to take 2 s
		k.Begin(0)
		<-time.After(63 * time.Second)
		if k.Due(5) {
			t.Fatal("due after 63 s, where sqrt(2*2*1000) is 63.2")
		}
		<-time.After(time.Second)
		if !k.Due(6) || k.Due(0) {
			t.Fatal("not due after 64 s, or before superstep 0")
		}
		k.Expect(&Manifest{Superstep: 6}, 1)
		if <-time.After(time.Hour); k.Due(7) {
			t.Fatal("due while one is pending")
		}
	})
}

// A store that does not answer delays the next checkpoint and the end of the run only for a limited
// time.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		place := hanging{}
		w := NewWriter(place, "run")
		w.Write(part(2, 0, 1, 10))
		<-time.After(StoreWithin)
		synctest.Wait()
		if s := w.Stored(); len(s) != 1 ||
			!strings.Contains(s[0].Failed, "storing took longer than 10m0s") {
			t.Fatalf("%+v", s)
		}
		w.Write(part(3, 0, 1, 10))
		w.Close()
	})
}

type hanging struct{ store.Store }

func (hanging) Put(ctx context.Context, _ string, _ io.ReaderAt, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFailuresInARow: when checkpoints fail one after the other, the first and the tenth failure
// are reported, and the recovery.
func TestFailuresInARow(t *testing.T) {
	place, _ := openDir(t)
	s := &full{Store: place, full: true}
	var told []string
	k := NewKeeper(s, Policy{Every: 1}, 0,
		func(text string) { told = append(told, text) }, func(Event) {})
	k.Begin(0)
	w := NewWriter(s, "run")
	for superstep := 1; superstep <= 14; superstep++ {
		if !k.Due(superstep) {
			t.Fatalf("none is due before superstep %d", superstep)
		}
		s.full = superstep <= 12
		k.Expect(&Manifest{Superstep: superstep}, 1)
		w.Write(part(superstep, 0, 1, 10))
		w.Flush()
		if err := errors.Join(k.Stored(w.Stored()), k.Settle()); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	k.Close(false)
	want := []string{"the checkpoint before superstep 1 was not stored", "10 checkpoints in a row were not stored, the last before superstep 10", "checkpoints are stored again, since the one before superstep 13; 12 in a row were not"}
	if len(told) != len(want) {
		t.Fatalf("messages: %q", told)
	}
	for i := range want {
		if !strings.HasPrefix(told[i], want[i]) {
			t.Errorf("messages %q, expected %q", told[i], want[i])
		}
	}
}

// TestManifestThatIsNone: the error tells where a manifest is cut off, or which version has written
// it.
func TestManifestThatIsNone(t *testing.T) {
	for data, want := range map[string]string{
		"":                             "it is empty, or cut off after 0 bytes",
		`{"format":4,"superstep":1234`: "it is empty, or cut off after 28 bytes",
		`{"checkpoint":{"format":3},"sha256":"ab"}`: "an earlier version of superstep wrote it",
		string(store.Seal([]byte(`{"format":9}`))):  "its format is 9, and this version reads 5",
	} {
		if _, err := parseManifest([]byte(data)); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("of %q: found %v, expected %s", data, err, want)
		}
	}
}

// TestCheckpointsOfAnEarlierVersion: they are refused with this reason. Prune removes newer parts
// without a manifest, but keeps these checkpoints.
func TestCheckpointsOfAnEarlierVersion(t *testing.T) {
	s, dir := openDir(t)
	part := "part-000000007-abc-00000-of-00001"
	for name, text := range map[string]string{
		ManifestName(7): `{"checkpoint":{"format":3},"sha256":"ab"}`, part: "of an earlier version",
		"part-000000008-abc-00000-of-00001": "of none",
	} {
		if err := s.PutIfAbsent(t.Context(), name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Find(t.Context(), s, "", func(string) {})
	if !errors.Is(err, store.ErrOld) || errors.Is(err, store.ErrDamaged) ||
		!strings.HasSuffix(err.Error(), ManifestName(7)+": "+store.ErrOld.Error()) {
		t.Errorf("found %v", err)
	}
	if err := Prune(t.Context(), s, 1, math.MaxInt, true); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), ManifestName(7)+" "+part; got != want {
		t.Errorf("found %q, expected %q", got, want)
	}
	if err := Prune(t.Context(), s, 0, math.MaxInt, true); err != nil || names(t, dir) != "" {
		t.Errorf("found %v, and %q left", err, names(t, dir))
	}
}
