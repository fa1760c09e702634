package master

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
)

// logged returns an event with a log line.
func logged(sequence int, text string) *control.JobEvent {
	e := said(text)
	e.Sequence, e.Time = uint64(sequence),
		timestamppb.New(noon.Add(time.Duration(sequence)*time.Second))
	return e
}

// openLogs opens the job logs as a starting master does.
func openLogs(t *testing.T, dir string) *jobLogs {
	t.Helper()
	l, err := openJobLogs(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

// linesOf returns the texts in a job's log.
func linesOf(l *jobLogs, id string) (lines []string) {
	last := uint64(0)
	for _, e := range l.before(id, false, 1<<32, timestamppb.New(noon)) {
		if e.Sequence < last || e.Time == nil {
			lines = append(lines, fmt.Sprint("out of order: ", e))
		}
		last = e.Sequence
		text := e.GetLog().GetText()
		if j := e.GetJob(); j != nil {
			text = j.State.Detail() + " " + j.Reason
		}
		lines = append(lines, text)
	}
	return lines
}

const startedAnew = "the master restarted: lines of the time before it may be missing here"

// TestJobLogs: a master reads the logs of its predecessors in order. A line marks where each master
// began. For an ended job, the log includes its end. The log of a forgotten job is removed.
func TestJobLogs(t *testing.T) {
	dir := t.TempDir()
	for run := range 2 {
		l := openLogs(t, dir)
		l.add("00aa-1", logged(10*run+1, fmt.Sprint("one of run ", run)))
		l.add("00aa-1", logged(10*run+3, fmt.Sprint("three of run ", run)))
		l.add("00aa-1", logged(10*run+2, fmt.Sprint("two of run ", run)))
		// records are not logged
		l.add("00aa-1", &control.JobEvent{Body: &control.JobEvent_Record{}})
		l.add("00aa-2", logged(1, "gone"))
		l.add("00aa-3", logged(1, "it ends"))
		l.add("00aa-3",
			&control.JobEvent{Sequence: 2, Time: timestamppb.New(noon), Body: &control.JobEvent_Job{Job: &control.Job{State: control.JobState_JOB_STATE_DONE}}})
		l.remove("00aa-2")
		l.stop()
		l.add("00aa-1", logged(99, "too late"))
	}
	l := openLogs(t, dir)
	want := "one of run 0|two of run 0|three of run 0|one of run 1|two of run 1|three of run 1|" +
		startedAnew
	if found := strings.Join(linesOf(l, "00aa-1"), "|"); found != want {
		t.Errorf("found %s, expected %s", found, want)
	}
	if found := linesOf(l, "00aa-2"); found != nil {
		t.Errorf("of a job that is forgotten: found %q", found)
	}
	// the second run used the same sequence numbers
	if found := strings.Join(linesOf(l, "00aa-3"), "|"); found != "it ends|it ends|done " {
		t.Errorf("of a job that has ended: found %s", found)
	}
	l.forget(func(id string) bool { return id != "00aa-1" })
	if _, err := os.Stat(filepath.Join(dir, logsName, "00aa-1")); !os.IsNotExist(err) {
		t.Errorf("the log of an unknown job stays: %v", err)
	}
}

// TestJobLogsAreBounded: the newest lines of a job are kept within a size limit. A line reports
// that others were removed.
func TestJobLogsAreBounded(t *testing.T) {
	dir := t.TempDir()
	const rounds, lines = 6, 2000
	for run := range rounds {
		l := openLogs(t, dir)
		for i := range lines {
			n := run*lines + i
			l.add("00aa-1", logged(n+1, fmt.Sprintf("line %d %s", n, strings.Repeat("x", 50))))
		}
		l.add("00aa-1", logged(run*lines+lines, strings.Repeat("long ", 1<<20)))
		l.stop()
		info, err := os.Stat(filepath.Join(dir, logsName, "00aa-1"))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > jobLogBytes {
			t.Fatalf("after run %d: found %d bytes", run, info.Size())
		}
	}
	all := linesOf(openLogs(t, dir), "00aa-1")
	if len(all) < lines/4 || !strings.HasPrefix(all[0], "earlier lines were removed: ") ||
		all[len(all)-1] != startedAnew {
		t.Fatalf("found %d lines, from %.80q to %.80q", len(all), all[0], all[len(all)-1])
	}
	if last := all[len(all)-2]; !strings.HasPrefix(last, "long long ") || len(last) > maxLogged+10 {
		t.Errorf("found a last line of %d bytes", len(last))
	}
	for i := range 100 {
		if want := fmt.Sprintf("line %d ", rounds*lines-1-i); !strings.HasPrefix(all[len(all)-3-i],
			want) {
			t.Errorf("found %.40q, expected %s", all[len(all)-3-i], want)
		}
	}
}

// TestJobLogsOfADiskThatHangs: a master stops even if its disk hangs, and reports what is missing.
func TestJobLogsOfADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		hangs := make(chan struct{})
		defer close(hangs)
		l := &jobLogs{log: slog.New(slog.NewTextHandler(&said, nil)), writing: true}
		l.work.Go(func() { <-hangs })
		l.add("00aa-1", logged(1, "never written"))
		began := time.Now()
		l.stop()
		if took := time.Since(began); took != maxLogsStop ||
			!strings.Contains(said.String(), "may be missing") {
			t.Errorf("stopped after %v, and said %q", took, said.String())
		}
	})
}

// TestJobLogsThatAreCut: the readable part of a truncated or damaged log is shown. A line reports
// where lines are missing.
func TestJobLogsThatAreCut(t *testing.T) {
	dir := t.TempDir()
	l := openLogs(t, dir)
	for i := range 3 {
		l.add("00aa-1", logged(i+1, fmt.Sprint("line ", i)))
	}
	l.stop()
	name := filepath.Join(dir, logsName, "00aa-1")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	missing := "|lines are missing here: logs/00aa-1 is damaged, cut off or gone|" + startedAnew
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)-1] ^= 1
	for want, data := range map[string][]byte{
		"line 0|line 1" + missing: whole[:len(whole)-1],
		"line 0" + missing:        whole[:2*len(whole)/3-1],
		missing[1:]:               whole[:3],
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(linesOf(openLogs(t, dir), "00aa-1"), "|"); found != want {
			t.Errorf("found %s, expected %s", found, want)
		}
	}
	// For an ended job a missing end is also damage, even if the log is cut between two records or
	// missing.
	endless := "lines are missing here: logs/00aa-1 is damaged, cut off or gone"
	for want, data := range map[string][]byte{"line 0|line 1|line 2|" + endless: whole, endless + "|": {}, endless + "||": nil} {
		if err := errors.Join(os.WriteFile(name, data, 0o600), os.Remove(name)); err != nil {
			t.Fatal(err)
		} else if data != nil {
			_ = os.WriteFile(name, data, 0o600)
		}
		found := ""
		for _, e := range openLogs(t, dir).before("00aa-1", true, 1<<32, timestamppb.New(noon)) {
			found += "|" + e.GetLog().GetText()
		}
		if found != "|"+strings.TrimRight(want, "|") {
			t.Errorf("found %s, expected %s", found, want)
		}
	}
	if events := decodeLog(damaged, "damage"); len(events) != 3 ||
		events[2].GetLog().Text != "damage" {
		t.Errorf("a damaged line: found %v", events)
	}
}

// FuzzJobLog: any bytes are decoded without a panic. Decoded events are encoded and decoded
// unchanged.
func FuzzJobLog(f *testing.F) {
	f.Add([]byte("\n"))
	f.Add(encodeLogged(logged(1, "a line")))
	f.Add(append(encodeLogged(logged(1, "a line"))[5:], encodeLogged(logged(2, "another"))...))
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		events := decodeLog(data, "damage")
		for _, e := range events {
			if e.GetJob() != nil || len(e.GetLog().Text) > maxLogged {
				return // it is shortened when it is written
			}
			again = append(again, encodeLogged(e)...)
		}
		found := decodeLog(again, "damage")
		if len(found) != len(events) {
			t.Fatalf("found %d events, expected %d", len(found), len(events))
		}
		for i := range found {
			if !proto.Equal(found[i], events[i]) {
				t.Errorf("found %v, expected %v", found[i], events[i])
			}
		}
	})
}

// TestLogsOutliveMasters: a log within its bounds stays complete when another master appends to it.
// Damage that a master finds is reported as long as it runs.
func TestLogsOutliveMasters(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, logsName, "00aa-1")
	l := openLogs(t, dir)
	for i := range 150 {
		l.add("00aa-1", logged(i, strings.Repeat("x", 1<<10)))
	}
	l.stop()
	write := func(text string) []string {
		t.Helper()
		l := openLogs(t, dir)
		l.add("00aa-1", logged(1000, text))
		l.stop()
		return linesOf(l, "00aa-1")
	}
	if found := write("of run 1"); len(found) != 152 { // with "began anew"
		t.Errorf("found %d lines of runs 0 and 1", len(found))
	}
	info, err := os.Stat(name)
	if err = errors.Join(err, os.Truncate(name, info.Size()-2)); err != nil {
		t.Fatal(err)
	}
	if found := write("of run 2"); !slices.Contains(found,
		"lines are missing here: logs/00aa-1 is damaged, cut off or gone") {
		t.Errorf("the last of %d lines are %q", len(found), found[max(0, len(found)-2):])
	}
}

// TestDamageStaysKnown: after later masters have appended to a truncated log, the missing part is
// still reported. Files that are not logs are removed.
func TestDamageStaysKnown(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, logsName, "00aa-1")
	for run := range 3 {
		l := openLogs(t, dir)
		l.add("00aa-1", logged(10*run+1, fmt.Sprint("one of run ", run)))
		l.add("00aa-1", logged(10*run+2, fmt.Sprint("two of run ", run)))
		l.stop()
		if run == 1 {
			info, err := os.Stat(name)
			if err = errors.Join(err, os.Truncate(name, info.Size()-2),
				os.MkdirAll(filepath.Join(dir, logsName, "00aa-2"), 0o700)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Also after this master has written to the log.
	l := openLogs(t, dir)
	l.forget(func(id string) bool { return true })
	first := linesOf(l, "00aa-1")
	l.add("00aa-1", logged(1<<32+1, "one of run 3"))
	l.stop()
	if found := linesOf(l, "00aa-1"); !slices.Equal(found, first) {
		t.Errorf("found %q of earlier masters, %q before", found, first)
	}
	if data, err := os.ReadFile(name); err != nil ||
		!strings.Contains(string(data), "one of run 3") {
		t.Errorf("the new line is missing: %v", err)
	}
	want := "one of run 0|two of run 0|one of run 1|lines are missing here: logs/00aa-1 is damaged, cut off or gone|one of run 2|two of run 2|" + startedAnew
	if found := strings.Join(first, "|"); found != want {
		t.Errorf("found %s, expected %s", found, want)
	}
	if _, err := os.Stat(filepath.Join(dir, logsName, "00aa-2")); !os.IsNotExist(err) {
		t.Errorf("a file that is no log was not removed: %v", err)
	}
}
