package transport

import (
	"cmp"
	"fmt"
	"slices"
)

// Tally counts what one partition sent to another, or received from it, in a superstep. Bytes are
// the encoded presence and values.
type Tally struct {
	Frames, Values, Bytes uint64
}

// Add counts a frame.
func (t *Tally) Add(values, bytes int) {
	t.Frames++
	t.Values += uint64(values)
	t.Bytes += uint64(bytes)
}

func (t Tally) String() string {
	return fmt.Sprintf("%d values in %d frames of %d bytes", t.Values, t.Frames, t.Bytes)
}

// Account has the counts of a partition in a superstep, one entry for each partition that it
// exchanged anything with, in ascending order.
type Account struct {
	Partition, Superstep int
	Peers                []PeerAccount
}

// PeerAccount is the entry of an account for one other partition.
type PeerAccount struct {
	Partition      int
	Sent, Received Tally
}

// Ledger counts a partition's frames in the current superstep, by the other partition.
type Ledger struct {
	Sent, Received []Tally
	account        Account
}

// NewLedger makes the ledger of one of n partitions.
func NewLedger(partition, n int) Ledger {
	return Ledger{make([]Tally, n), make([]Tally, n), Account{Partition: partition}}
}

// Close returns the account of a superstep, which is valid until the next call. It resets the
// counts.
func (l *Ledger) Close(superstep int) *Account {
	a := &l.account
	a.Superstep, a.Peers = superstep, a.Peers[:0]
	for i, sent := range l.Sent {
		if got := l.Received[i]; sent != (Tally{}) || got != (Tally{}) {
			a.Peers = append(a.Peers, PeerAccount{i, sent, got})
		}
	}
	clear(l.Sent)
	clear(l.Received)
	return a
}

// Balance returns an error for a pair of partitions whose numbers of sent and received frames,
// values or bytes differ. accounts has one account per partition, all of the same superstep.
func Balance(accounts []*Account) error {
	n := len(accounts)
	for i, a := range accounts {
		if a == nil || a.Partition != i {
			return fmt.Errorf("there is no account of partition %d", i)
		}
		if a.Superstep != accounts[0].Superstep {
			return fmt.Errorf("partition %d accounts for superstep %d, partition 0 for %d", i,
				a.Superstep, accounts[0].Superstep)
		}
		for k := range a.Peers {
			if p := a.Peers[k].Partition; p < 0 || p >= n || k > 0 && a.Peers[k-1].Partition >= p {
				return fmt.Errorf("superstep %d: in the account of partition %d found partition %d, expected others of %d partitions in order", a.Superstep, i, p, n)
			}
		}
	}
	for i, a := range accounts {
		for _, mine := range a.Peers {
			from, to, theirs := i, mine.Partition, accounts[mine.Partition].of(i)
			sent, came := mine.Sent, theirs.Received
			if sent == came {
				from, to, sent, came = to, from, theirs.Sent, mine.Received
			}
			if sent != came {
				return fmt.Errorf("superstep %d: partition %d sent partition %d %v, and %v came",
					a.Superstep, from, to, sent, came)
			}
		}
	}
	return nil
}

// of returns the entry for a partition, which is zero if there is none.
func (a *Account) of(partition int) (entry PeerAccount) {
	at, found := slices.BinarySearchFunc(a.Peers, partition,
		func(e PeerAccount, p int) int { return cmp.Compare(e.Partition, p) })
	if found {
		entry = a.Peers[at]
	}
	return entry
}
