// Package membership finds the processes of a cluster and hints at those that died, by gossip. A
// hint is all it is: a worker that is pinned down misses probes, so the master's lease decides who
// is lost.
//
// [Gossip] is hashicorp/memberlist.
package membership

// Role is what a member is.
type Role string

// Roles.
const (
	Master Role = "master"
	Worker Role = "worker"
)

// Member is a process of the cluster.
type Member struct {
	Name string
	Role Role
	// Control is the address of a master's control plane.
	Control string
	// Gossip is where the member gossips; it is not set by who joins.
	Gossip string
}

// Kind is what happened to a member.
type Kind uint8

// Kinds of events. A member that is gone has left or died: gossip does not tell which.
const (
	Joined Kind = iota
	Gone
)

func (k Kind) String() string { return [...]string{"joined", "gone"}[k] }

// Event is something that happened to another member.
type Event struct {
	Kind   Kind
	Member Member
}

// Group is a member's view of the others.
type Group interface {
	// Members returns those taken to live, oneself included, by name.
	Members() []Member
	// Events tells what happens to the others; it is closed when the group is. What nobody takes in
	// time is dropped.
	Events() <-chan Event
	// Address is where others join.
	Address() string
	// Join joins those at addresses, again and again until it is closed: members that lost each
	// other find each other.
	Join(addresses ...string)
	// Close leaves and lets go of everything. It is idempotent.
	Close() error
}

// FindMaster returns the control address of a master that a group knows, or "".
func FindMaster(g Group) string {
	if g == nil {
		return ""
	}
	for _, m := range g.Members() {
		if m.Role == Master && m.Control != "" {
			return m.Control
		}
	}
	return ""
}

// pending is how many events may wait for who takes them.
const pending = 256
