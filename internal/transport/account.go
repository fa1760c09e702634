package transport

import "fmt"

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
	return Ledger{Sent: make([]Tally, n), Received: make([]Tally,
		n), account: Account{Partition: partition}}
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

// Balance compares the accounts of all partitions. It can be reused for each superstep.
type Balance struct {
	next []int // for each account, the index of the first entry that was not compared yet
}

// Check returns an error for a pair of partitions whose numbers of sent and received frames, values
// or bytes differ. accounts has one account per partition, all of the same superstep.
func (x *Balance) Check(accounts []*Account) error {
	n := len(accounts)
	x.next = append(x.next[:0], make([]int, n)...)
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
				return fmt.Errorf("superstep %d: the account of partition %d is out of order, or with more than %d partitions", a.Superstep, i, n)
			}
		}
	}
	// Entries are in ascending order, and partitions are taken in this order. So the entry for i is
	// the first one left in an account.
	for i, a := range accounts {
		for _, mine := range a.Peers {
			j := mine.Partition
			theirs := PeerAccount{}
			if left := accounts[j].Peers[x.next[j]:]; len(left) > 0 && left[0].Partition <= i {
				theirs = left[0]
				x.next[j]++
				if theirs.Partition < i {
					return differ(a.Superstep, j, theirs.Partition, theirs.Sent, Tally{},
						theirs.Received, Tally{})
				}
			}
			if mine.Sent != theirs.Received || mine.Received != theirs.Sent {
				return differ(a.Superstep, i, j, mine.Sent, theirs.Received, mine.Received,
					theirs.Sent)
			}
		}
	}
	for i, a := range accounts {
		if left := a.Peers[x.next[i]:]; len(left) > 0 {
			return differ(a.Superstep, i, left[0].Partition, left[0].Sent, Tally{},
				left[0].Received, Tally{})
		}
	}
	return nil
}

// differ returns the error for a difference between i and j: the counts from i to j, or, if these
// are equal, from j to i.
func differ(superstep, i, j int, sent, came, got, wasSent Tally) error {
	if sent == came {
		i, j, sent, came = j, i, wasSent, got
	}
	return fmt.Errorf("superstep %d: partition %d sent partition %d %v, and %v came", superstep, i,
		j, sent, came)
}
