// Package membership finds the processes of a cluster by gossip, and hints at processes that died.
// The hints are not reliable: a busy worker misses probes. So the master decides by its leases
// which worker is lost. [Gossip] uses hashicorp/memberlist. Read this file first.
package membership

// Role is the role of a member.
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
	// Gossip is the member's gossip address. It is not set in the member's own Config.
	Gossip string
}

// Event means that another member has joined or gone. It has left or died: gossip cannot
// distinguish them.
type Event struct {
	Gone   bool
	Member Member
}

// Group is a member's view of the cluster.
type Group interface {
	// Members returns the members that seem alive, including this one, ordered by name.
	Members() []Member
	// Events returns the channel of other members' events. It is closed with the group. Events that
	// are not received in time are dropped.
	Events() <-chan Event
	// Address returns the address that others can join.
	Address() string
	// Join joins the members at addresses, repeatedly until the group is closed, so that members
	// that lost each other find each other again.
	Join(addresses ...string)
	// Close leaves the cluster and frees everything. It is idempotent.
	Close() error
}

// FindMaster returns the control address of a master in the group, or "".
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

// pending is the number of events that are buffered for the receiver.
const pending = 256
