package transport

import "fmt"

// Tally counts what one partition sent another in a superstep, or got from it.
type Tally struct {
	Frames, Values, Bytes uint64
}

// Add counts a frame.
func (t *Tally) Add(values, bytes int) {
	t.Frames++
	t.Values += uint64(values)
	t.Bytes += uint64(bytes)
}

// Account is a partition's tallies of a superstep, by the other partition. Bytes are those of presence and values, as
// encoded.
type Account struct {
	Partition, Superstep int
	Sent, Received       []Tally
}

// Totals adds up what was sent and received.
func (a *Account) Totals() (sent, received Tally) {
	for i := range a.Sent {
		sent.merge(a.Sent[i])
		received.merge(a.Received[i])
	}
	return sent, received
}

func (t *Tally) merge(u Tally) {
	t.Frames += u.Frames
	t.Values += u.Values
	t.Bytes += u.Bytes
}

// ledger is the accounts of a partition of Local, of the superstep that runs and of the one before.
type ledger struct {
	sent, received []Tally
	account        Account
}

func newLedger(partition, n int) ledger {
	return ledger{
		sent: make([]Tally, n), received: make([]Tally, n),
		account: Account{Partition: partition, Sent: make([]Tally, n), Received: make([]Tally, n)},
	}
}

// close closes the account of a superstep, and opens the next.
func (l *ledger) close(superstep int) *Account {
	a := &l.account
	a.Superstep = superstep
	l.sent, a.Sent = a.Sent, l.sent
	l.received, a.Received = a.Received, l.received
	clear(l.sent)
	clear(l.received)
	return a
}

// Balance reports the first pair of partitions for which what was sent is not what came. Accounts are by partition, all
// of one superstep.
func Balance(accounts []*Account) error {
	n := len(accounts)
	for i, a := range accounts {
		if a.Partition != i || len(a.Sent) != n || len(a.Received) != n {
			return fmt.Errorf("account %d is partition %d's, with %d and %d of %d partitions", i, a.Partition, len(a.Sent), len(a.Received), n)
		}
		if a.Superstep != accounts[0].Superstep {
			return fmt.Errorf("partition %d accounts for superstep %d, partition 0 for %d", i, a.Superstep, accounts[0].Superstep)
		}
	}
	for i, from := range accounts {
		for j, to := range accounts {
			if sent, got := from.Sent[j], to.Received[i]; sent != got {
				return fmt.Errorf("superstep %d: partition %d sent partition %d %v, and %v came", from.Superstep, i, j, sent, got)
			}
		}
	}
	return nil
}

func (t Tally) String() string {
	return fmt.Sprintf("%d values in %d frames of %d bytes", t.Values, t.Frames, t.Bytes)
}
