//go:build linux

package mem

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// budgetOf makes a budget that is not a process's, with a hard limit of hard bytes.
func budgetOf(hard int64, dir string) *Budget {
	return &Budget{limit: hard, hard: hard, soft: hard / 2, least: spillLeast, dir: dir}
}

func TestBudgetRefuses(t *testing.T) {
	b := budgetOf(8<<20, "")
	held := &Arena{Kind: Graph, Budget: b}
	Make[uint64](held, 700<<10)
	err := func() (err error) {
		defer Recover(&err)
		Make[uint64](&Arena{Kind: Columns, Budget: b}, 1<<20)
		return nil
	}()
	var exhausted *Exhausted
	if !errors.As(err, &exhausted) || !exhausted.Budget || exhausted.Bytes != 8<<20 {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"8.0 MiB are requested for columns", "5.5 MiB of the limit of 8.0 MiB are held (graph 5.5 MiB)", "2.5 MiB are free", "no directory to spill to"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	held.Close()
	if u := b.Use(); u.Memory != 0 || len(u.Kinds) != 0 {
		t.Errorf("%v", u)
	}
}

func TestNoBudgetRefusesNothing(t *testing.T) {
	var none *Budget
	a := &Arena{Kind: Messages, Budget: none}
	Make[byte](a, 1<<20)
	a.Close()
	if none.Tight(1 << 40) {
		t.Error("no budget is tight")
	}
}

// TestSpill: arrays above the soft limit are in files without names, which are freed with the
// arena. An array grows from memory into a file.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	if SpillDir(dir) != nil {
		t.Skip("the directory for temporary files is in memory")
	}
	b := budgetOf(8<<20, dir)
	a := &Arena{Kind: Columns, Budget: b}
	s := Make[uint64](a, 384<<10) // 3 MiB
	for i := range s {
		s[i] = uint64(i)
	}
	if u := b.Use(); u.Memory != 3<<20 || u.Spilled != 0 {
		t.Fatalf("%v", u)
	}
	s = Grow(a, s, 2<<20)
	if u := b.Use(); u.Memory != 0 || u.Spilled < 8*(384<<10+2<<20) {
		t.Fatalf("%v", u)
	}
	s = s[:cap(s)]
	for i, x := range s {
		if want := uint64(i); i < 384<<10 && x != want || i >= 384<<10 && x != 0 {
			t.Fatalf("element %d is %d", i, x)
		}
	}
	s[len(s)-1] = 7
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files %v, error %v", files, err)
	}
	Trim(a, s, 1<<20)
	Free(a, s)
	a.Close()
	if u := b.Use(); u.Memory != 0 || u.Spilled != 0 {
		t.Errorf("%v is left", u)
	}
}

func TestSpillWithoutRoom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nothing is spilled here")
	}
	b := budgetOf(8<<20, filepath.Join(t.TempDir(), "none"))
	err := func() (err error) {
		defer Recover(&err)
		Make[uint64](&Arena{Kind: Columns, Budget: b}, 2<<20)
		return nil
	}()
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
	if SpillDir("/dev/shm") == nil {
		t.Error("/dev/shm is taken to spill to")
	}
}

// TestSpillToABadDisk: if the disk is full or read-only, the array is refused with both reasons,
// and no file remains.
func TestSpillToABadDisk(t *testing.T) {
	for flags, want := range map[uintptr]string{0: "no space left on device", unix.MS_RDONLY: "read-only file system"} {
		dir := t.TempDir()
		if err := unix.Mount("none", dir, "tmpfs", flags, "size=1m"); err != nil {
			t.Skip("no file system can be mounted here: ", err)
		}
		b := budgetOf(8<<20, dir)
		b.add(Graph, 7<<20, false)
		err := func() (err error) {
			defer Recover(&err)
			Make[uint64](&Arena{Kind: Columns, Budget: b}, 256<<10)
			return nil
		}()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(),
			"2.0 MiB are requested for columns") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v", err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
			t.Errorf("files %v, error %v", files, err)
		}
		b.add(Graph, -7<<20, false)
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil || flags == 0 && s.Bfree != s.Blocks {
			t.Errorf("%d of %d blocks are free, error %v", s.Bfree, s.Blocks, err)
		}
		if u := b.Use(); u.Memory != 0 || u.Spilled != 0 {
			t.Errorf("%v is left", u)
		}
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}
}

func TestLimit(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"memory.max": "max\n", "pod/memory.max": "1000\n", "pod/box/memory.max": "5000\n",
		"memory/old/memory.limit_in_bytes": "900\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for groups, want := range map[string]int64{"0::/pod/box\n": 1000, "4:memory:/old\n0::/pod\n": 900} {
		if got := leastOf(root, groups, group.most); got != want {
			t.Errorf("%q: a limit of %d, want %d", groups, got, want)
		}
	}
	if n := DefaultLimit(); n <= 0 {
		t.Errorf("%d bytes", n)
	}
}

// TestOver: functions of OnOver are called when the process exceeds the hard limit.
func TestOver(t *testing.T) {
	if Anonymous() == 0 {
		t.Skip("nobody knows what the process takes")
	}
	b := budgetOf(1, "")
	var said []error
	b.OnOver(func(err error) error {
		said = append(said, err)
		return errors.New("a cause")
	})
	var last error
	b.Last = func(err error) { last = err }
	b.OnOver(func(err error) error {
		t.Error("who has left is told")
		return err
	})()
	b.look(time.Now())
	b.look(time.Now())
	if len(said) != 1 || IsExhausted(said[0]) == nil ||
		!strings.Contains(said[0].Error(), "are taken") {
		t.Errorf("%v", said)
	}
	if last == nil || last.Error() != "a cause" {
		t.Errorf("the process was ended for %v", last)
	}
}

// TestBuffer: buffers above the soft limit are in files. They are gone after Free, or when
// unreachable. Above the hard limit they are refused.
func TestBuffer(t *testing.T) {
	dir := t.TempDir()
	if SpillDir(dir) != nil {
		t.Skip("the directory for temporary files is in memory")
	}
	b := budgetOf(8<<20, dir)
	low, err := b.Buffer(Frames, 2<<20)
	if err != nil || len(low.Data) != 2<<20 || b.Use().Spilled != 0 {
		t.Fatalf("%v, error %v", b.Use(), err)
	}
	low.Free()
	high, err := b.Buffer(Frames, 5<<20)
	if err != nil || len(high.Data) != 5<<20 || b.Use().Spilled != 5<<20 {
		t.Fatalf("%v, error %v", b.Use(), err)
	}
	high.Data[5<<20-1] = 1
	high.Free()
	high.Free()
	if u := b.Use(); u.Spilled != 0 || high.Data != nil {
		t.Errorf("%v is left", u)
	}
	if _, err = b.Buffer(Frames, 6<<20); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); b.Use().Spilled > 0; runtime.GC() {
		if time.Now().After(until) {
			t.Fatalf("%v is left of what nobody has", b.Use())
		}
	}
	full := budgetOf(8<<20, "")
	if _, err := full.Buffer(Frames, 9<<20); IsExhausted(err) == nil ||
		!strings.Contains(err.Error(), "9.0 MiB are requested for frames") {
		t.Errorf("error %v", err)
	}
}

// TestApart: memory and files are listed separately.
func TestApart(t *testing.T) {
	for want, c := range map[string][2]int64{
		"60.0 MiB": {60 << 20, 0},
		"40.0 MiB in memory and 20.0 MiB in files to spill to": {60 << 20, 20 << 20},
		"0 B in memory and 60.0 MiB in files to spill to":      {60 << 20, 1 << 40},
	} {
		if found := Apart(c[0], c[1]); found != want {
			t.Errorf("found %q, expected %q", found, want)
		}
	}
	dir := t.TempDir()
	b := NewBudget(64<<20, dir)
	if room, files := b.Room(), b.Files(); files <= 0 || files > spillShare*64<<20 ||
		room != b.Free()+files {
		t.Errorf("found room of %d, %d of it in files, %d free", room, files, b.Free())
	}
	if files := NewBudget(64<<20, "").Files(); files != 0 {
		t.Errorf("found %d bytes of files without a directory", files)
	}
}

// TestHeapIsAskedFor: arrays with pointers are on Go's heap, and are refused if there is no room.
func TestHeapIsAskedFor(t *testing.T) {
	b := budgetOf(8<<20, "")
	grow := func(a *Arena, n int) (err error) {
		defer Recover(&err)
		Grow(a, []*int(nil), n)
		return nil
	}
	for _, a := range []*Arena{nil, {}, {Budget: b}} {
		if err := grow(a, 1<<17); err != nil {
			t.Error(err)
		}
	}
	if err := grow(&Arena{Budget: b, Kind: Messages}, 2<<20); err == nil ||
		!strings.Contains(err.Error(), errOnHeap.Error()) {
		t.Errorf("error %v", err)
	}
}
