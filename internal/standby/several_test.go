package standby

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/store/storetest"
)

// TestOnlyOneCommits runs several processes over one store. The store is slow, and fails before or
// after a request is performed. In half of the runs, clocks stop at times; in the other half, no
// two processes may hold the lease at the same time. Each process increments a number repeatedly.
// The committed increments are compared with the log.
func TestOnlyOneCommits(t *testing.T) {
	all, terms := 0, uint64(0)
	for seed := range uint64(36) {
		problems, committed, term := several(t, seed, &storetest.Memory{})
		for _, p := range problems {
			t.Errorf("seed %d: %s", seed, p)
		}
		all, terms = all+committed, terms+term
	}
	if all < 900 || terms < 300 {
		t.Errorf("%d records of %d terms show nothing", all, terms)
	}
	found := 0
	for seed := range uint64(12) {
		if problems, _, _ := several(t, seed,
			&storetest.Memory{Overwrites: true}); len(problems) > 0 {
			found++
		}
	}
	if found < 6 {
		t.Errorf("of 12 runs over a store that overwrites %d are found to be wrong", found)
	}
}

// several performs one run. It returns the problems, the number of committed records, and how often
// a process took over.
func several(
	t *testing.T, seed uint64, memory *storetest.Memory,
) (problems []string, all int, terms uint64) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), 3*time.Minute)
		defer end()
		var work sync.WaitGroup
		var mu sync.Mutex
		committed := map[uint64]string{}
		logs := make([]*Log, 3)
		if seed%2 == 1 {
			work.Go(func() {
				for ctx.Err() == nil {
					mu.Lock()
					all := slices.Clone(logs)
					mu.Unlock()
					held := 0
					for _, l := range all {
						if l != nil && l.Held() {
							held++
						}
					}
					if held > 1 {
						mu.Lock()
						problems = append(problems, "two hold the lease")
						mu.Unlock()
						return
					}
					<-time.After(10 * time.Millisecond)
				}
			})
		}
		for i := range logs {
			work.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				var behind time.Duration
				v := &storetest.View{Memory: memory, Trouble: func(ctx context.Context, call,
					_ string, done bool,
				) error {
					mu.Lock()
					p, d := r.Float64(), time.Duration(r.IntN(300))*time.Millisecond
					if p < 0.02 {
						d = time.Duration(r.IntN(60)) * time.Second // a pause
					}
					mu.Unlock()
					began := time.Now()
					<-time.After(d)
					mu.Lock()
					defer mu.Unlock()
					if p < 0.01 && seed%2 == 0 {
						behind += time.Since(began) // time that the clock missed
					}
					if p > 0.9 {
						return errors.New("an answer is lost")
					}
					return nil
				}}
				for n := 0; ctx.Err() == nil; n++ {
					l := opened(v, fmt.Sprint(seed, i, n))
					l.Now = func() time.Time {
						mu.Lock()
						defer mu.Unlock()
						return time.Now().Add(-behind)
					}
					mu.Lock()
					logs[i] = l
					mu.Unlock()
					if l.Lead(ctx, nobody) == nil {
						for err := error(nil); err == nil; {
							value := fmt.Sprint(len(l.State()), " by ", l.Writer)
							if err = l.put(ctx, fmt.Sprint(len(l.State())), value); err == nil {
								mu.Lock()
								if before := committed[l.head.Number]; before != "" {
									problems = append(problems,
										fmt.Sprintf("record %d was committed as %q and as %q",
											l.head.Number, before, value))
								}
								committed[l.head.Number] = value
								mu.Unlock()
							}
						}
					}
					l.Close()
				}
			})
		}
		work.Wait()
		<-time.After(5 * time.Minute) // wait until hanging requests end
		l := opened(&storetest.View{Memory: memory}, "last")
		if err := l.Poll(t.Context()); err != nil {
			problems = append(problems, err.Error())
		}
		found := map[string]bool{}
		for _, v := range l.State() {
			found[string(v)] = true
		}
		for n, v := range committed {
			if !found[v] {
				problems = append(problems,
					fmt.Sprintf("record %d, %q, was committed and is not there", n, v))
			}
		}
		all, terms = len(committed), l.Term()
	})
	return problems, all, terms
}
