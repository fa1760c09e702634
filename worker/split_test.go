package worker

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// TestSplit deals reports of any sizes: every partition comes once, in order, and no part is larger than it must be.
func TestSplit(t *testing.T) {
	const size = 1000
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		whole := &control.SuperstepReport{Superstep: 7}
		n := random.IntN(30)
		for i := range n {
			whole.Partitions = append(whole.Partitions, &control.PartitionReport{Partition: uint32(i), Aggregates: make([]byte, random.IntN(1200))})
		}
		parts := append(split(whole, size), whole)
		next := uint32(0)
		for i, p := range parts {
			bytes := 0
			for _, q := range p.Partitions {
				if q.Partition != next {
					t.Fatalf("partition %d comes after %d", q.Partition, next)
				}
				next++
				bytes += proto.Size(q)
			}
			if p.Superstep != 7 || bytes > size && len(p.Partitions) > 1 {
				t.Errorf("a part of superstep %d with %d partitions has %d bytes", p.Superstep, len(p.Partitions), bytes)
			}
			if len(p.Partitions) == 0 && len(parts) > 1 {
				t.Error("a part is empty")
			}
			if i+1 < len(parts) && bytes+proto.Size(parts[i+1].Partitions[0]) <= size {
				t.Error("what follows would have fit")
			}
		}
		if int(next) != n {
			t.Errorf("%d partitions of %d", next, n)
		}
	}
}

// TestReportsThatAreNoMessage are refused, so that the master does not wait for them.
func TestReportsThatAreNoMessage(t *testing.T) {
	report := func(bytes int) *control.Report {
		return &control.Report{Body: &control.Report_Prepare{Prepare: &control.PrepareReport{Facts: make([]byte, bytes)}}}
	}
	if err := fits(report(control.MaxMessage / 2)); err != nil {
		t.Error(err)
	}
	if err := fits(report(control.MaxMessage)); err == nil {
		t.Error("a report of the size of a message fits into one")
	}
}
