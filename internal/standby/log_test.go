package standby

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

const lease = 4 * time.Second

// opened returns a process's log.
func opened(s store.Store, writer string) *Log {
	return Open(Options{Store: s, Lease: lease, Writer: writer, Address: "at " + writer, SnapshotEvery: 5, Now: time.Now})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func nobody(string) {}

// put appends a change of one key.
func (l *Log) put(ctx context.Context, key, value string) error {
	return l.Append(ctx, map[string][]byte{key: []byte(value)})
}

// TestOneLeadsAfterTheOther: while the first process renews its lease, the second waits. Then it
// takes over the state, when the lease has expired, or at once after a release.
func TestOneLeadsAfterTheOther(t *testing.T) {
	for _, release := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, memory := t.Context(), &storetest.Memory{}
			a, b := opened(&storetest.View{Memory: memory}, "a"),
				opened(&storetest.View{Memory: memory}, "b")
			must(t, a.Lead(ctx, nobody))
			if a.Found() || a.Term() != 1 {
				t.Errorf("the first found something, or leads for the %d. time", a.Term())
			}
			led, leaders := make(chan error, 1), ""
			go func() { led <- b.Lead(ctx, func(leader string) { leaders += leader + ";" }) }()
			for i := range 40 {
				must(t, a.put(ctx, fmt.Sprint(i%7), fmt.Sprint(i)))
				must(t, a.Append(ctx, map[string][]byte{fmt.Sprint(i % 3): nil}))
				<-time.After(a.Renew())
				if !a.Held() || len(led) > 0 {
					t.Fatal("the lease was renewed, and is over")
				}
			}
			began := time.Now()
			if release {
				must(t, a.Release(ctx))
			}
			must(t, <-led)
			took := time.Since(began)
			if release != (took < lease/2) || took > 2*lease {
				t.Errorf("released: %v, and the other leads after %v", release, took)
			}
			if a.Held() {
				t.Error("two hold the lease")
			}
			if b.Term() != 2 || !b.Found() || !slices.Contains([]string{"at a;", "at a;;"},
				leaders) {
				t.Errorf("term %d, leaders %q", b.Term(), leaders)
			}
			if !maps.EqualFunc(a.State(), b.State(),
				func(x, y []byte) bool { return string(x) == string(y) }) {
				t.Errorf("left %q, found %q", a.State(), b.State())
			}
			if err := a.put(ctx, "x", "y"); !errors.Is(err, ErrLost) {
				t.Errorf("a former leader may write: %v", err)
			}
			b.Close()
			a.Close()
			if n := len(memory.Names()); n > 20 {
				t.Errorf("there are %d objects", n)
			}
		})
	}
}

// TestWhoWasStopped: a leader was stopped, and its clock did not advance. Meanwhile its next record
// number was used and the record removed. Its write succeeds but does not count.
func TestWhoWasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, memory := t.Context(), &storetest.Memory{}
		a, b := opened(&storetest.View{Memory: memory}, "a"),
			opened(&storetest.View{Memory: memory}, "b")
		still := time.Now()
		a.Now = func() time.Time { return still }
		must(t, a.Lead(ctx, nobody))
		must(t, a.put(ctx, "x", "1"))
		must(t, b.Lead(ctx, nobody))
		for i := range 30 {
			must(t, b.put(ctx, "x", fmt.Sprint(i)))
			b.pruning.Wait()
		}
		if slices.Contains(memory.Names(), name(logPrefix, a.head.Number+1)) {
			t.Fatal("nothing was removed")
		}
		if err := a.put(ctx, "x", "2"); !errors.Is(err, ErrLost) || a.Held() {
			t.Errorf("its record counts: %v", err)
		}
		if !slices.Contains(memory.Names(), name(logPrefix, a.head.Number+1)) {
			t.Error("it has written nothing: the test shows nothing")
		}
		c := opened(&storetest.View{Memory: memory}, "c")
		must(t, c.Poll(ctx))
		if got := string(c.State()["x"]); got != "29" || c.head.Number != b.head.Number {
			t.Errorf("found %s after record %d, expected 29 after %d", got, c.head.Number, b.head.Number)
		}
		b.Close()
		c.Close()
	})
}

// TestStoreThatFails: a write whose answer is lost counts once. If the store is down for less than
// the lease, the log waits; otherwise the lease is lost.
func TestStoreThatFails(t *testing.T) {
	for _, away := range []time.Duration{lease / 3, 2 * lease} {
		synctest.Test(t, func(t *testing.T) {
			ctx, memory := t.Context(), &storetest.Memory{}
			broken, warned := errors.New("it is broken"), []error{}
			var back time.Time
			v := &storetest.View{Memory: memory, Trouble: func(_ context.Context, call, _ string,
				done bool,
			) error {
				if call == "put if absent" && done && time.Now().Before(back) {
					return broken
				}
				return nil
			}}
			a := opened(v, "a")
			a.Warn = func(err error) { warned = append(warned, err) }
			must(t, a.Lead(ctx, nobody))
			must(t, a.put(ctx, "x", "1"))
			back = time.Now().Add(lease / 3)
			before := a.head.Number
			// the existing record is its own
			if err := a.put(ctx, "x", "2"); err != nil || a.head.Number != before+1 || !a.Held() ||
				len(warned) != 2 {
				t.Errorf("found %v, %d records, warnings %q", err, a.head.Number-before, warned)
			}
			must(t, a.Append(ctx, nil)) // the lease counts from before this write
			warned = nil
			v.Trouble = func(_ context.Context, _, _ string, done bool) error {
				if !done && time.Now().Before(back) {
					return broken
				}
				return nil
			}
			back = time.Now().Add(away)
			began := time.Now()
			err := a.put(ctx, "x", "3")
			if waited := time.Since(began); away < lease && (err != nil || len(warned) != 2 ||
				!errors.Is(warned[0], broken) || warned[1] != nil) ||
				away > lease && (!errors.Is(err, ErrLost) || !errors.Is(err, broken) ||
					waited > lease || a.Held()) {
				t.Errorf("away for %v: after %v found %v, warnings %v", away, waited, err, warned)
			}
			a.Close()
		})
	}
}

// TestLeaseFromTheFirstTry: the store reported an error for a record, but wrote it. The lease
// counts from the first attempt, because others have seen the record since then.
func TestLeaseFromTheFirstTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, memory := t.Context(), &storetest.Memory{}
		v := &storetest.View{Memory: memory}
		a, b := opened(v, "a"), opened(&storetest.View{Memory: memory}, "b")
		must(t, a.Lead(ctx, nobody))
		wrote := time.Now()
		v.Trouble = func(_ context.Context, _, _ string, done bool) error {
			if done && time.Since(wrote) < lease/2 {
				return errors.New("an answer is lost")
			}
			return nil
		}
		must(t, a.put(ctx, "x", "1"))
		if until := a.until.Sub(wrote); until > lease {
			t.Errorf(
				"it assumes the lease for %v after its first write, the lease is %v", until, lease)
		}
		must(t, b.Lead(ctx, nobody))
		if a.Held() {
			t.Error("two hold the lease")
		}
		must(t, b.Release(ctx))
		if b.Held() {
			t.Error("it holds the released lease")
		}
	})
}

// TestTooLarge: a record that is too large to be read is not written.
func TestTooLarge(t *testing.T) {
	memory := &storetest.Memory{}
	a := opened(&storetest.View{Memory: memory}, "a")
	must(t, a.Lead(t.Context(), nobody))
	if err := a.Append(t.Context(), map[string][]byte{"x": make([]byte, maxEntry/4*3)}); !errors.Is(err,
		ErrLost) || len(memory.Names()) != 1 {
		t.Errorf("found %v, objects %v", err, memory.Names())
	}
}

// TestLongLog: if old records cannot be removed, the log continues, and followers read all of it.
func TestLongLog(t *testing.T) {
	const records = 50
	memory, refused := &storetest.Memory{}, new(atomic.Int64)
	v := &storetest.View{Memory: memory, Trouble: func(_ context.Context, call, _ string,
		_ bool,
	) error {
		if call == "delete" {
			refused.Add(1)
			return os.ErrPermission
		}
		return nil
	}}
	a := opened(v, "a")
	var said []error
	a.Trouble = func(err error) { said = append(said, err) }
	must(t, a.Lead(t.Context(), nobody))
	for i := range records {
		must(t, a.put(t.Context(), fmt.Sprint("x", i), fmt.Sprint(i)))
		a.pruning.Wait()
	}
	a.Close()
	if len(said) != 1 || !errors.Is(said[0], os.ErrPermission) ||
		!strings.Contains(said[0].Error(), "the log in memory grows") {
		t.Errorf("output %q", said)
	}
	b := opened(v, "b")
	must(t, b.Poll(t.Context()))
	if len(memory.Names()) < records || refused.Load() == 0 || len(b.State()) != records {
		t.Errorf("%d objects, %d refusals, %d keys", len(memory.Names()), refused.Load(),
			len(b.State()))
	}
}

// TestStoreThatHangs: a hanging store blocks the leader at most until its lease ends.
func TestStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		v := &storetest.View{Memory: &storetest.Memory{}}
		a := opened(v, "a")
		must(t, a.Lead(t.Context(), nobody))
		v.Trouble = func(_ context.Context, _, _ string, done bool) error {
			<-free
			return nil
		}
		if err := a.put(t.Context(), "x", "1"); !errors.Is(err, ErrLost) ||
			!strings.Contains(err.Error(), "nothing could be written to memory for 3s") {
			t.Errorf("found %v", err)
		}
		b := opened(v, "b")
		if err := b.Poll(t.Context()); err == nil ||
			err.Error() != "memory does not answer within 4s" {
			t.Errorf("found %v", err)
		}
		close(free)
		a.Close()
		synctest.Wait()
	})
}

// TestDiskThatHangsAtTheEnd: a hanging snapshot delays the end of a process by at most a few
// seconds.
func TestDiskThatHangsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		v := &storetest.View{Memory: &storetest.Memory{}}
		a := Open(
			Options{Store: v, Alone: true, Lease: time.Minute, SnapshotEvery: 2, Now: time.Now})
		must(t, a.Lead(t.Context(), nil))
		v.Trouble = func(_ context.Context, _, name string, done bool) error {
			if strings.HasPrefix(name, snapshotPrefix) && !done {
				<-free
			}
			return nil
		}
		must(t, a.put(t.Context(), "x", "1"))
		must(t, a.put(t.Context(), "x", "2"))
		began := time.Now()
		a.Close()
		if took := time.Since(began); took != closing {
			t.Errorf("it took %v, expected %v", took, closing)
		}
		close(free)
		synctest.Wait()
	})
}

// TestRecordThatFailed: if a write failed according to its error, the next process does not see the
// record.
func TestRecordThatFailed(t *testing.T) {
	memory, broken := &storetest.Memory{}, errors.New("the directory cannot be synced")
	v := &storetest.View{Memory: memory}
	alone := func() *Log {
		a := Open(Options{Store: v, Alone: true, Lease: time.Minute, Now: time.Now})
		must(t, a.Lead(t.Context(), nil))
		return a
	}
	a := alone()
	must(t, a.put(t.Context(), "x", "1"))
	v.Trouble = func(_ context.Context, call, _ string, done bool) error {
		if call == "put" && done {
			return broken
		}
		return nil
	}
	if err := a.put(t.Context(), "x", "2"); !errors.Is(err, broken) {
		t.Errorf("found %v", err)
	}
	v.Trouble = nil
	if b := alone(); string(b.State()["x"]) != "1" {
		t.Errorf("found %q, expected what was written", b.State()["x"])
	}
}

// TestDamage: damage is reported, and no log continues after it. If the newest snapshot is damaged,
// the previous one is used.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s, err := store.OpenDir(dir)
	must(t, err)
	defer s.Close()
	a := opened(s, "a")
	must(t, a.Lead(t.Context(), nobody))
	for i := range 12 {
		must(t, a.put(t.Context(), "x", fmt.Sprint(i)))
		a.pruning.Wait()
	}
	objects, err := a.numbers(t.Context(), "")
	must(t, err)
	if len(objects) > 0 {
		t.Errorf("objects without a number are listed: %v", objects)
	}
	var names []string
	for o, err := range s.List(t.Context(), "") {
		must(t, err)
		names = append(names, o.Name)
	}
	for _, object := range names {
		path := dir + "/" + object
		good, err := os.ReadFile(path)
		must(t, err)
		for i := range len(good) {
			bad := slices.Clone(good)
			bad[i] ^= 1 << (i % 8)
			if i%5 == 4 {
				bad = bad[:i]
			}
			must(t, os.WriteFile(path, bad, 0o600))
			b := opened(s, "b")
			err := b.Poll(t.Context())
			if err == nil && string(b.State()["x"]) != "11" {
				t.Fatalf("byte %d of %s: found %q", i, object, b.State()["x"])
			}
			if last := name(logPrefix, a.head.Number); object == last && err == nil {
				t.Fatalf("byte %d of %s: nothing is found", i, object)
			}
		}
		must(t, os.WriteFile(path, good, 0o600))
	}
	a.Close()
}

func FuzzDecode(f *testing.F) {
	e := entry{Kind: changed, Number: 7, Term: 3, Lease: time.Second, Writer: "w", Address: "a:1", Changes: map[string][]byte{"k": []byte("v"), "gone": nil, "empty": {}}}
	data, err := e.encode()
	must(f, err)
	f.Add(data[:bytes.LastIndexByte(data, ',')])
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decode(store.Seal(data), 7)
		if err != nil {
			return
		}
		data, err = e.encode()
		must(t, err)
		if again, err := decode(data, 7); err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("found %v, %v after it, %v", e, again, err)
		}
	})
}
