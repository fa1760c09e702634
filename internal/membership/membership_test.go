package membership

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A probe of memberlist that runs at shutdown ends by its own timeout.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

const patience = time.Minute

// until waits for an event about a member.
func until(t *testing.T, g Group, gone bool, name string) {
	t.Helper()
	end := time.After(patience)
	for {
		select {
		case e := <-g.Events():
			if e.Gone == gone && e.Member.Name == name {
				return
			}
		case <-end:
			t.Fatalf("waited %v for %s to have %v", patience, name, map[bool]string{false: "joined", true: "gone"}[gone])
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
	until(t, a, false, "b")
	if err := b.(*gossip).close(func(time.Duration) error { return nil }); err != nil {
		t.Fatal(err)
	}
	until(t, a, true, "b")
}

// TestGossipKeys: a member with another key, or without one, is kept out.
func TestGossipKeys(t *testing.T) {
	a, err := Gossip(
		Config{Self: Member{Name: "a"}, Listen: "127.0.0.1:0", Key: bytes.Repeat([]byte{1}, 16)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for i, key := range [][]byte{bytes.Repeat([]byte{3}, 32), bytes.Repeat([]byte{2}, 16)} {
		b, err := Gossip(Config{Self: Member{Name: fmt.Sprint("b",
			i)}, Listen: "127.0.0.1:0", Key: key})
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

// TestGossipIntruders: a process without the key cannot join, whatever it sends and however often.
// Its connections are closed.
func TestGossipIntruders(t *testing.T) {
	a, err := Gossip(Config{Self: Member{Name: "a", Role: Master}, Listen: "127.0.0.1:0", Key: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	tries := 200
	if text := os.Getenv("SUPERSTEP_TRIES"); text != "" { // use 10000 for a long test
		if tries, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(16, 3))
	slowest := time.Duration(0)
	for i := range tries {
		network := []string{"udp", "tcp"}[i%2]
		c, err := net.Dial(network, a.Address())
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1+r.IntN(1000))
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		if i%4 < 2 {
			b[0] = byte(r.IntN(16)) // a type of message
		}
		began := time.Now()
		if _, err := c.Write(b); err == nil && network == "tcp" && i%50 == 1 {
			_ = c.SetReadDeadline(began.Add(patience))
			for err == nil {
				_, err = c.Read(b)
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a connection that brought %.20q is kept for %v", b, patience)
			}
			slowest = max(slowest, time.Since(began))
		}
		_ = c.Close()
	}
	for i := range tries / 100 {
		b, err := Gossip(Config{Self: Member{Name: fmt.Sprint("b",
			i), Role: Worker}, Listen: "127.0.0.1:0", Key: bytes.Repeat([]byte{8}, 32)})
		if err != nil {
			t.Fatal(err)
		}
		b.Join(a.Address())
		if n := len(b.Members()); n != 1 {
			t.Errorf("a member with another key sees %d members", n)
		}
		if err := b.(*gossip).close(func(time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if all := a.Members(); len(all) != 1 || all[0].Name != "a" {
		t.Errorf("members are %v", all)
	}
	t.Logf("%d tries, 0 joins; the slowest connection was closed after %v", tries+tries/100,
		slowest)
}
