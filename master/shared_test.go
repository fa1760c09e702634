package master

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

// sharing returns the results of one run of a master. Masters share a place.
func sharing(t *testing.T, view *storetest.View, run uint64) *results {
	t.Helper()
	r, err := newResults(t.TempDir(), run, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	r.share(view, func() bool { return true })
	return r
}

// made creates a job's result from parts, and stores it in the shared place. It returns their
// checksums.
func made(t *testing.T, r *results, job string, texts ...string) []*control.Sum {
	t.Helper()
	dir, sums := r.made(t, job, texts...)
	if err := r.publishParts(t.Context(), dir, len(texts)); err != nil {
		t.Fatal(err)
	}
	return sums
}

// readAs returns a job's result as a client gets it.
func readAs(t *testing.T, r *results, job string, sums []*control.Sum) string {
	t.Helper()
	f, err := r.open(t.Context(), job, sums)
	if err != nil {
		return err.Error()
	}
	if !f.begins() {
		return "none"
	}
	var got []byte
	if err := f.read(t.Context(), sums, linesByID, &rest{each: func(data []byte) error {
		got = slices.Concat(got, data)
		return nil
	}}); err != nil {
		return err.Error()
	}
	return string(got)
}

// TestNextMasterHasResults: the next master has the complete result of the last attempt, until it
// is removed because no job has it.
func TestNextMasterHasResults(t *testing.T) {
	memory := &storetest.Memory{}
	view := &storetest.View{Memory: memory}
	first := sharing(t, view, 7)
	const job, text = "abcd-1", "1 a\n2 b\n3 c\n4 d\n"
	// stored by a master whose successor ran another attempt
	made(t, first, job, "1 x\n", "9 y\n", "10 z\n")
	second := sharing(t, view, 8)
	sums := made(t, second, job, "1 a\n4 d\n", "2 b\n3 c\n")

	next := sharing(t, view, 12)
	if got := readAs(t, next, job, sums); got != text {
		t.Errorf("found %q, expected %q", got, text)
	}
	for part := range sums { // the next master does not use a damaged part
		for _, damage := range []func(string) string{func(s string) string { return s[:4] }, func(s string) string { return strings.Replace(s, "3", "4", 1) }} {
			name, text := "results/"+second.attempt(job, 1)+fmt.Sprintf("/part-%05d", part),
				[2]string{"1 a\n4 d\n", "2 b\n3 c\n"}[part]
			damaged := damage(text)
			if damaged == text {
				continue
			}
			put := func(text string) {
				if err := view.Put(t.Context(), name, strings.NewReader(text),
					int64(len(text))); err != nil {
					t.Fatal(err)
				}
			}
			put(damaged)
			if got := readAs(t, sharing(t, view, 13), job, sums); !strings.Contains(got,
				name+": found ") || !strings.Contains(got, store.ErrDamaged.Error()) {
				t.Errorf("%s is %q: found %q", name, damaged, got)
			}
			put(text)
		}
	}
	if got := readAs(t, next, "abcd-2", nil); got != "none" {
		t.Errorf("of a job without a result: %q", got)
	}
	swept := sharing(t, view, 14)
	for _, has := range []bool{true, false} {
		before := memory.Names()
		if err := swept.sweepShared(t.Context(), sharedResults, func(string) bool { return !has }); err != nil {
			t.Error(err)
		}
		if left := memory.Names(); has && len(left) != len(before) || !has && len(left) > 0 {
			t.Errorf("the job is known: %t; of %q stays %q", has, before, left)
		}
	}
}

// TestResultIsRemovedEverywhere: removing a job removes its result from the shared place. A failed
// attempt removes only its own parts. A master that may have lost its lease removes nothing.
func TestResultIsRemovedEverywhere(t *testing.T) {
	memory := &storetest.Memory{}
	view := &storetest.View{Memory: memory}
	r, later := sharing(t, view, 7), sharing(t, view, 8)
	made(t, later, "abcd-1", "1 a\n")
	made(t, r, "abcd-1", "1 b\n")
	r.remove(r.attempt("abcd-1", 1))
	r.atDisk.Wait()
	if left := memory.Names(); len(left) != 1 || !strings.HasPrefix(left[0], "results/"+later.attempt("abcd-1", 1)) {
		t.Errorf("found %q, expected the object of the later master", left)
	}
	r.held = func() bool { return false }
	r.remove("abcd-1")
	r.atDisk.Wait()
	if left := memory.Names(); len(left) != 1 {
		t.Errorf("a former leader has removed an object: found %q", left)
	}
	later.remove("abcd-1")
	later.atDisk.Wait()
	if left := memory.Names(); len(left) != 0 {
		t.Errorf("found %q, expected nothing", left)
	}
}

// TestSharedPlaceThatIsDown: if the place fails while a result is stored, only this master has the
// result.
func TestSharedPlaceThatIsDown(t *testing.T) {
	memory := &storetest.Memory{}
	down := true
	view := &storetest.View{Memory: memory, Trouble: func(context.Context, string, string, bool) error {
		if down {
			return errors.New("down")
		}
		return nil
	}}
	r := sharing(t, view, 7)
	dir, sums := r.made(t, "abcd-1", "1 a\n")
	if r.publishParts(t.Context(), dir, 1) == nil {
		t.Fatal("the place is not down")
	}
	if got := readAs(t, r, "abcd-1", sums); got != "1 a\n" {
		t.Errorf("found %q", got)
	}
	down = false
	// another master has made the result again: the parts here are of a lost attempt
	again := made(t, sharing(t, view, 9), "abcd-1", "2 b\n")
	if got := readAs(t, r, "abcd-1", again); got != "2 b\n" {
		t.Errorf("of a lost attempt: found %q", got)
	}
	for o, err := range view.List(t.Context(), "") {
		if err != nil || view.Delete(t.Context(), o.Name) != nil {
			t.Fatal(err)
		}
	}
	if got := readAs(t, sharing(t, view, 8), "abcd-1", sums); got != "none" {
		t.Errorf("another master found %q", got)
	}
}

// TestResultThatIsRemovedWhileItIsRead: a result that another master removes during reading is
// reported as gone, not as damaged.
func TestResultThatIsRemovedWhileItIsRead(t *testing.T) {
	var removes func()
	view := &storetest.View{Memory: &storetest.Memory{}, Trouble: func(_ context.Context, call, name string, done bool) error {
		if remove := removes; remove != nil && call == "get" &&
			strings.Contains(name, partPrefix) && !done {
			removes = nil
			remove()
		}
		return nil
	}}
	first := sharing(t, view, 7)
	sums := made(t, first, "abcd-1", "1 a\n")
	s, err := New(Config{Options: Options{Data: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	s.results.close()
	s.results = sharing(t, view, 8)
	s.done("abcd-1", noon, sums...)
	enough := errors.New("the reader wants no more")
	if err := s.Result(t.Context(), "abcd-1", 0, func([]byte) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("found %v", err)
	}
	removes = func() {
		for _, name := range view.Names() {
			if err := view.Delete(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
	}
	err = s.Result(t.Context(), "abcd-1", 0, func([]byte) error { return nil })
	if connect.CodeOf(err) != connect.CodeNotFound || removes != nil {
		t.Errorf("found %v", err)
	}
}

// TestErrorsOfReadingAResult: clients retry only if the place does not answer.
func TestErrorsOfReadingAResult(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	s := &server{log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want connect.Code
	}{
		{t.Context(), errors.New("connection reset"), connect.CodeUnavailable},
		{t.Context(), fmt.Errorf("get: %w", context.DeadlineExceeded), connect.CodeUnavailable},
		{t.Context(), store.Missing("x"), connect.CodeDataLoss},
		{t.Context(), malformed{errors.New("no line")}, connect.CodeUnknown},
		{t.Context(), absent("gone"), connect.CodeNotFound},
		{ended, context.Canceled, connect.CodeUnknown}, // connect turns it into CodeCanceled
	} {
		if got := connect.CodeOf(s.damaged(c.ctx, "abcd-1", c.err)); got != c.want {
			t.Errorf("%v: found %v, expected %v", c.err, got, c.want)
		}
	}
}

// TestSharedPlaceThatHangs: waiting for the place is limited, and late answers change nothing.
func TestSharedPlaceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := &storetest.Memory{}
		sums := made(t, sharing(t, &storetest.View{Memory: memory}, 7), "abcd-1", "1 a\n")
		answers := make(chan struct{})
		hangs := &storetest.View{Memory: memory, Trouble: func(_ context.Context, call, _ string,
			done bool,
		) error {
			if !done {
				<-answers
			}
			return nil
		}}
		r, began := sharing(t, hangs, 8), time.Now()
		if got := readAs(t, r, "abcd-1", sums); !strings.Contains(got,
			"does not answer within 1m0s") {
			t.Errorf("found %q", got)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
		close(answers)
		synctest.Wait()
		if got := readAs(t, r, "abcd-1", sums); got != "1 a\n" {
			t.Errorf("when it answers again: %q", got)
		}
	})
}

// TestNextMasterHasColumns: the next master has every column that a client sent completely, for
// known jobs and for new ones. Only the leader removes columns.
func TestNextMasterHasColumns(t *testing.T) {
	memory := &storetest.Memory{}
	view := &storetest.View{Memory: memory}
	var named map[string]bool
	columns := func(run uint64) *sentColumns {
		return &sentColumns{
			results: sharing(t, view, run), now: time.Now,
			named: func() map[string]bool { return named },
		}
	}
	a, b, part := rand.Text(), rand.Text(), rand.Text()
	first := columns(7)
	for _, err := range []error{
		first.send(a, 0, "1 2\n", false), first.send(a, 4, "2 3\n", true),
		first.send(b, 0, "3 4\n", true), first.send(part, 0, "not all", false),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	named = map[string]bool{a: true}
	next := columns(8)
	if got := next.sentNow(a, "1 2\n2 3\n"); got != "1 2\n2 3\n" {
		t.Errorf("of a job that waits: %q", got)
	}
	for id, want := range map[string]connect.Code{b: 0, part: connect.CodeFailedPrecondition, "../" + a: connect.CodeFailedPrecondition} {
		err := next.complete(t.Context(), &jobspec.Spec{
			ColumnData: map[string]*jobspec.ColumnData{"x": sentAs(id, "3 4\n")},
		})
		if err != nil && connect.CodeOf(err) != want || err == nil && want != 0 {
			t.Errorf("%s: %v, expected %v", id, err, want)
		}
	}
	if got := next.sentNow(b, "3 4\n"); got != "3 4\n" {
		t.Errorf("of a job that was submitted to it: %q", got)
	}
	named = map[string]bool{a: false, b: false}
	first.held = func() bool { return false }
	for _, c := range []struct {
		by   *sentColumns
		left int
	}{{first, 2}, {next, 0}} {
		if err := c.by.sweep(t.Context()); err != nil {
			t.Error(err)
		}
		if names := memory.Names(); len(names) != c.left {
			t.Errorf("when the jobs have ended there is %q, expected %d", names, c.left)
		}
	}
}
