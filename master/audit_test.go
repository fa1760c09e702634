package master

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// TestDamagedAuditLog: after a restart, the master reports the first changed or missing line. It
// reports this damage again after further restarts, but considers the lines after it intact.
func TestDamagedAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	var said strings.Builder
	found := func() []string { return strings.Split(strings.TrimSuffix(said.String(), "\n"), "\n")[1:] }
	open := func() *audit {
		t.Helper()
		said.Reset()
		said.WriteString("\n")
		a, err := openAudit(path, func() time.Time { return noon },
			slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	write := func(jobs ...string) {
		t.Helper()
		a := open()
		if len(found()) > 0 {
			t.Fatalf("found %q", found())
		}
		for _, j := range jobs {
			a.add(context.Background(), entry{What: "submit", Job: j}, nil)
		}
		a.close()
	}
	write("j-1", "j-2")
	write("j-3", "j-4")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for what, damaged := range map[string][]byte{
		":2: ": bytes.Replace(text, []byte("j-2"), []byte("j-9"), 1),
		":3: ": bytes.Join([][]byte{lines[0], lines[1], lines[3]}, nil),
		":4: ": text[:len(text)-5], ":1: ": append([]byte("x"), text...),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		a := open()
		if lines := found(); len(lines) != 1 || !strings.Contains(lines[0], path+what) ||
			!strings.Contains(lines[0], store.ErrDamaged.Error()) {
			t.Errorf("found %q, expected one error of %s", lines, what)
		}
		a.add(context.Background(), entry{What: "cancel", Job: "j-5"}, nil)
		a.close()
		if open().close(); len(found()) != 1 {
			t.Errorf("%s: the next line counts as damaged too: %q", what, found())
		}
	}
}
