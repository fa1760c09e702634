package membership

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A probe that memberlist has under way when it is shut down ends by its own timeout.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

const patience = time.Minute

// until waits for an event of a member.
func until(t *testing.T, g Group, kind Kind, name string) {
	t.Helper()
	end := time.After(patience)
	for {
		select {
		case e := <-g.Events():
			if e.Kind == kind && e.Member.Name == name {
				return
			}
		case <-end:
			t.Fatalf("waited %v for %s to have %v", patience, name, kind)
		}
	}
}

func TestGossipSeesADeath(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	a, err := Gossip(Config{Self: Member{Name: "a", Role: Master}, Listen: "127.0.0.1:0", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := Gossip(Config{Self: Member{Name: "b", Role: Worker}, Listen: "127.0.0.1:0", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	b.Join(a.Address())
	until(t, a, Joined, "b")
	if err := b.(*gossip).close(func(time.Duration) error { return nil }); err != nil {
		t.Fatal(err)
	}
	until(t, a, Gone, "b")
}

// TestGossipKeys keeps out who has another key, or none.
func TestGossipKeys(t *testing.T) {
	a, err := Gossip(Config{Self: Member{Name: "a"}, Listen: "127.0.0.1:0", Key: bytes.Repeat([]byte{1}, 16)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for i, key := range [][]byte{bytes.Repeat([]byte{3}, 32), bytes.Repeat([]byte{2}, 16)} {
		b, err := Gossip(Config{Self: Member{Name: fmt.Sprint("b", i)}, Listen: "127.0.0.1:0", Key: key})
		if err != nil {
			t.Fatal(err)
		}
		b.Join(a.Address())
		if len(a.Members()) != 1 || len(b.Members()) != 1 {
			t.Errorf("key %x joined", key)
		}
		_ = b.Close()
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "0.0.0.0:0", ":0", "10.0.0.1:0", "nowhere"} {
		if g, err := Gossip(Config{Listen: address}); err == nil {
			t.Errorf("gossip at %s needs no key", address)
			_ = g.Close()
		}
	}
}

func TestReadKey(t *testing.T) {
	for text, size := range map[string]int{"": -1, "00": -1, "zz": -1, "000102030405060708090a0b0c0d0e0f\n": 16, "000102030405060708090a0b0c0d0e0f" + strings.Repeat("\n", 1<<20): -1} {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := ReadKey(file)
		if size < 0 && err == nil || size >= 0 && len(key) != size {
			t.Errorf("%q: %x, %v", text, key, err)
		}
	}
	if key, err := ReadKey(""); key != nil || err != nil {
		t.Errorf("no file: %x, %v", key, err)
	}
}
