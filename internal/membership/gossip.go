package membership

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/superstep-go/superstep/internal/statefile"
)

// Config has the parameters of gossip.
type Config struct {
	// Self describes this process. Listen is the address HOST:PORT for gossip, by TCP and UDP. Port
	// 0 means any port.
	Self   Member
	Listen string
	// Key encrypts and authenticates. It has 16, 24 or 32 bytes. It is required on loopback too,
	// because any process of the machine could join.
	Key []byte
}

// These intervals detect a silent death in 1 to 2 s, measured with up to 16 members and a loss of
// 10 %.
const (
	probeInterval  = 250 * time.Millisecond
	probeTimeout   = 100 * time.Millisecond
	suspicion      = 3
	leaveTimeout   = 500 * time.Millisecond
	tcpTimeout     = 2 * time.Second
	rejoinInterval = 2 * time.Second
	metaLimit      = 400 // bytes; memberlist allows 512
)

// ReadKey reads a gossip key from a file: a line of 32, 48 or 64 hexadecimal digits. It returns nil
// if the name is empty.
func ReadKey(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	data, err := statefile.ReadSmall(file)
	if err != nil {
		return nil, fmt.Errorf("gossip key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != 16 && len(key) != 24 && len(key) != 32 {
		return nil, fmt.Errorf("%s: expected a gossip key of 32, 48 or 64 hexadecimal digits "+
			"(openssl rand -hex 32 makes one)", file)
	}
	return key, nil
}

type gossip struct {
	list   *memberlist.Memberlist
	events chan Event
	ctx    context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
	once   sync.Once
	mu     sync.Mutex
	seeds  []string
	closed bool // events
}

var _ Group = (*gossip)(nil)

// Gossip starts to gossip. The process is alone until it joins others.
func Gossip(c Config) (Group, error) {
	host, portText, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("found the gossip address %q, expected HOST:PORT", c.Listen)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("found the gossip port %q, expected a number", portText)
	}
	if len(c.Key) == 0 {
		return nil, fmt.Errorf("gossip at %s needs a key, or anyone could join: "+
			"give --gossip-key-file, or switch it off with --gossip-listen off", c.Listen)
	}
	meta, err := json.Marshal(
		map[string]string{"role": string(c.Self.Role), "control": c.Self.Control})
	if err != nil || len(meta) > metaLimit {
		return nil, fmt.Errorf("gossip: the metadata of %s is too large: %w", c.Self.Name, err)
	}
	g := &gossip{events: make(chan Event, pending)}
	g.ctx, g.end = context.WithCancel(context.Background())
	config := memberlist.DefaultLANConfig()
	// The role is part of the name, because a worker may have the same name as the master.
	config.Name = string(c.Self.Role) + "/" + c.Self.Name
	config.BindAddr, config.BindPort = host, port
	if host == "localhost" {
		config.BindAddr = "127.0.0.1"
	}
	config.AdvertisePort = port
	config.ProbeInterval, config.ProbeTimeout = probeInterval, probeTimeout
	config.SuspicionMult, config.SuspicionMaxTimeoutMult = suspicion, suspicion
	config.TCPTimeout = tcpTimeout
	config.SecretKey = c.Key
	config.Logger = log.New(io.Discard, "", 0)
	config.Events, config.Delegate = (*delegate)(g), &metadata{meta: meta}
	if g.list, err = memberlist.Create(config); err != nil {
		g.end()
		return nil, fmt.Errorf("gossip: %w", err)
	}
	g.work.Add(1)
	go g.rejoin()
	return g, nil
}

func (g *gossip) Address() string { return g.list.LocalNode().Address() }

func (g *gossip) Events() <-chan Event { return g.events }

func (g *gossip) Members() []Member {
	var all []Member
	for _, n := range g.list.Members() {
		all = append(all, member(n))
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Join adds addresses to join. It makes the first try before it returns.
func (g *gossip) Join(addresses ...string) {
	g.mu.Lock()
	for _, a := range addresses {
		if a != "" && !slices.Contains(g.seeds, a) {
			g.seeds = append(g.seeds, a)
		}
	}
	seeds := slices.Clone(g.seeds)
	g.mu.Unlock()
	if len(seeds) > 0 && g.ctx.Err() == nil {
		_, _ = g.list.Join(seeds) // rejoin tries again
	}
}

// rejoin joins the seeds again while the group is alone. A process that joined only once could stay
// alone for ever.
func (g *gossip) rejoin() {
	defer g.work.Done()
	t := time.NewTicker(rejoinInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if g.list.NumMembers() < 2 {
				g.Join()
			}
		case <-g.ctx.Done():
			return
		}
	}
}

func (g *gossip) Close() error { return g.close(g.list.Leave) }

// close says goodbye and frees everything.
func (g *gossip) close(goodbye func(time.Duration) error) error {
	var err error
	g.once.Do(func() {
		g.end()
		g.work.Wait()
		_ = goodbye(leaveTimeout)
		err = g.list.Shutdown()
		g.mu.Lock()
		g.closed = true
		close(g.events)
		g.mu.Unlock()
	})
	return err
}

func member(n *memberlist.Node) Member {
	var meta struct{ Role, Control string }
	_ = json.Unmarshal(n.Meta, &meta)
	_, name, _ := strings.Cut(n.Name, "/")
	return Member{Name: name, Role: Role(meta.Role), Control: meta.Control, Gossip: n.Address()}
}

// delegate receives memberlist's notifications. It never blocks, because memberlist holds a lock.
type delegate gossip

func (d *delegate) tell(n *memberlist.Node, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	select {
	case d.events <- Event{gone, member(n)}:
	default:
	}
}

func (d *delegate) NotifyJoin(n *memberlist.Node)   { d.tell(n, false) }
func (d *delegate) NotifyUpdate(n *memberlist.Node) {}
func (d *delegate) NotifyLeave(n *memberlist.Node)  { d.tell(n, true) }

// metadata is the data that a member publishes about itself. It shares no other state.
type metadata struct{ meta []byte }

func (m *metadata) NodeMeta(limit int) []byte       { return m.meta[:min(len(m.meta), limit)] }
func (m *metadata) NotifyMsg([]byte)                {}
func (m *metadata) GetBroadcasts(int, int) [][]byte { return nil }
func (m *metadata) LocalState(bool) []byte          { return nil }
func (m *metadata) MergeRemoteState([]byte, bool)   {}
