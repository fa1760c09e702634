package membership

import (
	"cmp"
	"slices"
	"sync"
)

// Mesh is a group inside a process, in which everyone knows everyone at once.
type Mesh struct {
	mu      sync.Mutex
	members map[string]*meshMember
}

type meshMember struct {
	mesh   *Mesh
	self   Member
	events chan Event
	closed bool
}

var _ Group = (*meshMember)(nil)

// NewMesh makes a mesh without members.
func NewMesh() *Mesh { return &Mesh{members: map[string]*meshMember{}} }

// Add makes a process a member.
func (m *Mesh) Add(self Member) (Group, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.members[self.Name] != nil {
		return nil, ErrName
	}
	self.Gossip = "mesh:" + self.Name
	me := &meshMember{mesh: m, self: self, events: make(chan Event, pending)}
	m.tell(Event{Joined, self})
	m.members[self.Name] = me
	return me, nil
}

// Kill lets a member die without a word; the others notice.
func (m *Mesh) Kill(name string) { m.remove(name) }

func (m *Mesh) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	member := m.members[name]
	if member == nil {
		return
	}
	delete(m.members, name)
	m.tell(Event{Gone, member.self})
}

// tell passes an event to all members. The lock is held.
func (m *Mesh) tell(e Event) {
	for _, member := range m.members {
		select {
		case member.events <- e:
		default:
		}
	}
}

func (m *meshMember) Members() []Member {
	m.mesh.mu.Lock()
	defer m.mesh.mu.Unlock()
	var all []Member
	for _, other := range m.mesh.members {
		all = append(all, other.self)
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (m *meshMember) Events() <-chan Event { return m.events }
func (m *meshMember) Address() string      { return m.self.Gossip }
func (m *meshMember) Join(...string)       {}

func (m *meshMember) Close() error {
	m.mesh.mu.Lock()
	mine := m.mesh.members[m.self.Name] == m
	m.mesh.mu.Unlock()
	if mine {
		m.mesh.remove(m.self.Name)
	}
	m.mesh.mu.Lock()
	defer m.mesh.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.events)
	}
	return nil
}
