package transport

import (
	"math/rand/v2"
	"testing"
)

// TestAudit compares Balance with a function that checks every pair. In the accounts at most one
// number is wrong.
func TestAudit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	caught := 0
	for range 2000 {
		n := 1 + random.IntN(6)
		ledgers := make([]Ledger, n)
		for i := range ledgers {
			ledgers[i] = NewLedger(i, n)
		}
		for range random.IntN(2 * n * n) {
			i, j, values := random.IntN(n), random.IntN(n), random.IntN(3)
			ledgers[i].Sent[j].Add(values, 8*values)
			ledgers[j].Received[i].Add(values, 8*values)
		}
		i, j := random.IntN(n), random.IntN(n)
		switch random.IntN(4) {
		case 0:
			ledgers[i].Sent[j].Add(1, 8)
		case 1:
			ledgers[i].Received[j].Add(1, 8)
		case 2:
			ledgers[i].Received[j] = Tally{}
		}
		balanced := true
		for i := range n {
			for j := range n {
				balanced = balanced && ledgers[i].Sent[j] == ledgers[j].Received[i]
			}
		}
		var accounts []*Account
		for i := range ledgers {
			accounts = append(accounts, ledgers[i].Close(3))
		}
		err := Balance(accounts)
		if (err == nil) != balanced {
			t.Fatalf("found %v of accounts that balance: %v", err, balanced)
		}
		if err != nil {
			caught++
		}
	}
	if caught < 100 {
		t.Errorf("only %d accounts of 2,000 were wrong", caught)
	}
}

// TestAccountsThatMakeNoSense: Balance returns an error for malformed accounts, which another
// process may send.
func TestAccountsThatMakeNoSense(t *testing.T) {
	some := func(partitions ...int) *Account {
		a := &Account{}
		for _, p := range partitions {
			a.Peers = append(a.Peers, PeerAccount{Partition: p})
		}
		return a
	}
	for name, accounts := range map[string][]*Account{
		"out of order": {some(1, 0), {Partition: 1}},
		"twice":        {some(1, 1), {Partition: 1}},
		"no partition": {some(2), {Partition: 1}},
		"negative":     {some(-1), {Partition: 1}},
		"missing":      {some(), nil},
		"another's":    {some(), some()},
		"another step": {some(), {Partition: 1, Superstep: 1}},
	} {
		if err := Balance(accounts); err == nil {
			t.Errorf("%s: found no error", name)
		}
	}
}
