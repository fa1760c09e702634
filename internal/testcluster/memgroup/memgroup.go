// Package memgroup is a membership.Group inside a process, for tests.
package memgroup

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/membership"
)

// Mesh is a group in which all members know each other at once.
type Mesh struct {
	mu      sync.Mutex
	members map[string]*meshMember
}

type meshMember struct {
	mesh   *Mesh
	self   membership.Member
	events chan membership.Event
	closed sync.Once
}

var _ membership.Group = (*meshMember)(nil)

// errName means that a name is in use.
var errName = errors.New("there is a member of that name")

// pending is the number of events that are buffered for the receiver.
const pending = 256

// New makes a mesh without members.
func New() *Mesh { return &Mesh{members: map[string]*meshMember{}} }

// Add adds a process as a member.
func (m *Mesh) Add(self membership.Member) (membership.Group, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.members[self.Name] != nil {
		return nil, errName
	}
	self.Gossip = "mesh:" + self.Name
	me := &meshMember{mesh: m, self: self, events: make(chan membership.Event, pending)}
	m.tell(membership.Event{Member: self})
	m.members[self.Name] = me
	return me, nil
}

// Kill removes a member without a goodbye; the others notice.
func (m *Mesh) Kill(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	member := m.members[name]
	if member == nil {
		return
	}
	delete(m.members, name)
	m.tell(membership.Event{Gone: true, Member: member.self})
}

// tell sends an event to all members. The caller holds the lock.
func (m *Mesh) tell(e membership.Event) {
	for _, member := range m.members {
		select {
		case member.events <- e:
		default:
		}
	}
}

func (m *meshMember) Members() []membership.Member {
	m.mesh.mu.Lock()
	defer m.mesh.mu.Unlock()
	var all []membership.Member
	for _, other := range m.mesh.members {
		all = append(all, other.self)
	}
	slices.SortFunc(all, func(a, b membership.Member) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (m *meshMember) Events() <-chan membership.Event { return m.events }
func (m *meshMember) Address() string                 { return m.self.Gossip }
func (m *meshMember) Join(...string)                  {}

func (m *meshMember) Close() error {
	m.mesh.mu.Lock()
	mine := m.mesh.members[m.self.Name] == m
	m.mesh.mu.Unlock()
	if mine {
		m.mesh.Kill(m.self.Name)
	}
	m.closed.Do(func() { close(m.events) })
	return nil
}
