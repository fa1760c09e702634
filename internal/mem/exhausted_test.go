package mem

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestExhausted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("arrays are on the Go heap")
	}
	err := func() (err error) {
		defer Recover(&err)
		Make[uint64](new(Arena), 1<<50)
		return nil
	}()
	var exhausted *Exhausted
	if !errors.As(err, &exhausted) || exhausted.Bytes != 1<<53 ||
		!strings.Contains(err.Error(), "8.0 PiB") {
		t.Errorf("error %v", err)
	}
	// wrapped in another error, like a panic of a team
	err = func() (err error) {
		defer Recover(&err)
		panic(fmt.Errorf("worker 1: %w", &Exhausted{Bytes: 5, Err: errors.New("x")}))
	}()
	if !errors.As(err, &exhausted) || exhausted.Bytes != 5 {
		t.Errorf("error %v", err)
	}
}

func TestRecoverLeavesOthers(t *testing.T) {
	defer func() {
		if v := recover(); v != "a bug" {
			t.Errorf("recovered %v", v)
		}
	}()
	var err error
	defer Recover(&err)
	panic("a bug")
}

func TestText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1 << 10: "1.0 KiB", 1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB",
		80 << 20: "80.0 MiB",
		3 << 29:  "1.5 GiB", 1 << 40: "1.0 TiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := Text(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
