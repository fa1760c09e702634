package memgroup

import (
	"bytes"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/membership"
)

const patience = time.Minute

// until waits for an event about a member.
func until(t *testing.T, g membership.Group, gone bool, name string) {
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

// TestGroups: memgroup's mesh behaves like gossip, except for a death: see TestGossipSeesADeath.
func TestGroups(t *testing.T) {
	mesh := New()
	key := bytes.Repeat([]byte{7}, 32)
	makers := map[string]func(membership.Member) (membership.Group, error){
		"mesh": mesh.Add,
		"gossip": func(m membership.Member) (membership.Group, error) {
			return membership.Gossip(membership.Config{Self: m, Listen: "127.0.0.1:0", Key: key})
		},
	}
	for name, add := range makers {
		t.Run(name, func(t *testing.T) {
			master, err := add(
				membership.Member{Name: "a", Role: membership.Master, Control: "127.0.0.1:7700"})
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			worker, err := add(membership.Member{Name: "b", Role: membership.Worker})
			if err != nil {
				t.Fatal(err)
			}
			worker.Join(master.Address())
			until(t, master, false, "b")
			if n := len(master.Members()); n != 2 {
				t.Errorf("found %d members", n)
			}
			if found := membership.FindMaster(worker); found != "127.0.0.1:7700" {
				t.Errorf("found the master at %q", found)
			}
			for range 2 {
				if err := worker.Close(); err != nil {
					t.Error(err)
				}
			}
			until(t, master, true, "b")
		})
	}
}

func TestMeshSeesADeath(t *testing.T) {
	mesh := New()
	a, _ := mesh.Add(membership.Member{Name: "a"})
	defer a.Close()
	b, _ := mesh.Add(membership.Member{Name: "b"})
	defer b.Close()
	if _, err := mesh.Add(membership.Member{Name: "b"}); err == nil {
		t.Error("a name was given twice")
	}
	mesh.Kill("b")
	until(t, a, true, "b")
}
