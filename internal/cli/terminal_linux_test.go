package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalPair returns the two ends of a pseudo-terminal.
func terminalPair(t *testing.T, size unix.Winsize) (display, program *os.File) {
	t.Helper()
	display, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = display.Close() })
	if err := unix.IoctlSetPointerInt(int(display.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(display.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
	return display, program
}

// TestProgressOnTerminal: many goroutines report progress while the display draws. The test checks
// the final screen. One terminal does not report its size.
func TestProgressOnTerminal(t *testing.T) {
	for _, size := range []unix.Winsize{{Row: 24, Col: 80}, {}} {
		t.Run(fmt.Sprintf("%dx%d", size.Col, size.Row), func(t *testing.T) { progressOn(t, size) })
	}
}

func progressOn(t *testing.T, size unix.Winsize) {
	t.Setenv("TERM", "xterm")
	display, program := terminalPair(t, size)
	p := (&app{err: program}).progress()
	seen := make(chan struct{})
	all := make(chan string)
	go func() {
		var text strings.Builder
		buffer := make([]byte, 4096)
		for shown := false; ; {
			n, err := display.Read(buffer)
			text.Write(buffer[:n])
			if !shown && strings.Contains(text.String(), "50%") &&
				strings.Contains(text.String(), "a remark") {
				shown = true
				close(seen)
			}
			if err != nil {
				all <- text.String()
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-seen:
					return
				default:
				}
				p.stage(fmt.Sprint("step ", i>>20), 5, 10)
				p.note(fmt.Sprint("note ", i))
			}
		})
	}
	p.log("a remark")
	workers.Wait()
	p.done()
	p.done()
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	if left := screen(<-all); left != "a remark\n" {
		t.Errorf("left on the screen: %q", left)
	}
}

// screen returns the final screen of a terminal that supports line feed, carriage return, cursor up
// and erasing.
func screen(output string) string {
	lines, row := []string{""}, 0
	for i := 0; i < len(output); i++ {
		switch c := output[i]; c {
		case '\r':
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
		case 0x1b:
			end := i + 2 + strings.IndexAny(output[i+2:], "ABCDFGHJKhlm")
			n := 1
			_, _ = fmt.Sscanf(output[i+2:end], "%d", &n) // no number means 1
			switch output[end] {
			case 'A', 'F':
				row = max(0, row-n)
			case 'J', 'K':
				lines[row] = ""
				lines = lines[:row+1]
			}
			i = end
		default:
			lines[row] += string(c)
		}
	}
	return strings.Join(lines, "\n")
}

// TestTerminalObeysNoNames: escape sequences in vertex names are shown on a terminal, not executed.
func TestTerminalObeysNoNames(t *testing.T) {
	t.Setenv("TERM", "xterm")
	file := filepath.Join(t.TempDir(), "g.csv")
	if err := os.WriteFile(file, []byte("source,target\n\x1b[31mEVIL,b\u202e\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "wcc", "-q", "-g", file, "-o", "-"},
		{"run", "pagerank", "-q", "-g", file, "--top", "2"},
		{"info", "-q", file},
	} {
		display, program := terminalPair(t, unix.Winsize{Row: 24, Col: 80})
		all := make(chan string)
		go func() {
			// it ends with an error when nobody has the terminal open any more
			text, _ := io.ReadAll(display)
			all <- string(text)
		}()
		if status := Run("superstep", args, nil, program, io.Discard); status != 0 {
			t.Errorf("%q: status %d", args, status)
		}
		if err := program.Close(); err != nil {
			t.Fatal(err)
		}
		if text := <-all; strings.ContainsAny(text, "\x1b\u202e") ||
			!strings.Contains(text, `\x1b[31mEVIL`) {
			t.Errorf("%q: found %q", args, text)
		}
	}
}
