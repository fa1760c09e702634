package netbench

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

var update = flag.Bool("update", false, "write the golden files anew")

// run calibrates and measures between the ranks of a memory link. It returns rank 0's report; all
// reports must be equal.
func run(t testing.TB, m *memlink.Memory, ranks int, sites []int, o Options) *Report {
	t.Helper()
	reports, errs := make([]*Report, ranks), make([]error, ranks)
	var group sync.WaitGroup
	for rank := range ranks {
		group.Go(func() {
			model, err := collective.Calibrate(t.Context(), m.Link(rank),
				collective.Calibration{Sites: sites, Repeat: 3})
			if err == nil {
				reports[rank], err = Run(t.Context(), m.Link(rank), model, o)
			}
			errs[rank] = err
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, r := range reports {
		if !reflect.DeepEqual(r, reports[0]) {
			t.Fatalf("rank %d has another report than rank 0", rank)
		}
	}
	for i := range ranks {
		reports[0].Workers = append(reports[0].Workers, fmt.Sprintf("w%d", i+1))
	}
	return reports[0]
}

var (
	inside  = collective.Pair{Alpha: 1e-9, Beta: 3e-5, Gap: 1e-5}
	between = collective.Pair{Alpha: 1e-8, Beta: 1e-3, Gap: 2e-5}
)

// costs returns the costs of links between two sites that share a trunk.
func costs(sites []int) func(from, to int) memlink.Cost {
	return func(from, to int) memlink.Cost {
		p, trunk := inside, 0.0
		if sites[from] != sites[to] {
			p, trunk = between, between.Alpha
		}
		return memlink.Cost{Alpha: p.Alpha, Beta: p.Beta, Gap: p.Gap, Trunk: trunk, Sites: [2]int{sites[from], sites[to]}}
	}
}

// TestTwoSites: on a simulated link, measured times match the predictions from the calibration, and
// the chosen algorithms are the fastest or nearly. The report contains its main parts.
func TestTwoSites(t *testing.T) {
	var r *Report
	sites := []int{0, 0, 0, 0, 1, 1, 1, 1}
	synctest.Test(t, func(t *testing.T) {
		m := memlink.New(len(sites), costs(sites))
		r = run(t, m, len(sites), sites,
			Options{Sizes: []int{1, 64, 4 << 10, 256 << 10}, Repetitions: 2})
	})
	for _, p := range r.Points {
		if p.Error > .15 || p.Seconds <= 0 || p.Repeats < 1 {
			t.Errorf("%s %s of %d bytes: measured %g, predicted %g", p.Collective, p.Algorithm,
				p.Bytes, p.Seconds, p.Predicted)
		}
	}
	for _, c := range r.Choices {
		if c.Loss > .1 {
			t.Errorf("%s of %d bytes: chose %s, %.0f %% slower than %s", c.Collective, c.Bytes,
				c.Chosen, 100*c.Loss, c.Fastest)
		}
	}
	var text, js bytes.Buffer
	if err := errors.Join(r.Text(&text), json.NewEncoder(&js).Encode(r)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"8 workers: w1, w2", "trunk between sites", "alltoall: time", "*", "256 KiB", "1 GB/s"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text has no %q:\n%s", want, &text)
		}
	}
	var again Report
	if err := json.Unmarshal(js.Bytes(), &again); err != nil || !reflect.DeepEqual(&again, r) {
		t.Errorf("JSON does not read back the same: %v", err)
	}
}

// TestFigure compares a plot of invented points with a golden file that a person has checked.
func TestFigure(t *testing.T) {
	var b bytes.Buffer
	if err := example().Figure(&b); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "both.svg")
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s differs; look at it and run with -update (%v)", golden, err)
	}
	wellFormed(t, b.Bytes())
}

// example is the report of a model. Its measured times are a little longer than predicted, most for
// small messages.
func example() *Report {
	sites := []int{0, 0, 0, 0, 1, 1, 1, 1}
	m := &collective.Model{Ranks: len(sites), Sites: sites, Trunk: between.Alpha}
	for i := range m.Ranks * m.Ranks {
		p := inside
		if sites[i/m.Ranks] != sites[i%m.Ranks] {
			p = between
		}
		m.Pairs = append(m.Pairs, p)
	}
	r := &Report{Ranks: m.Ranks, Model: m}
	for _, c := range []collective.Collective{PointToPoint, Stream, collective.Broadcast, collective.Allgather, collective.Allreduce, collective.Alltoall} {
		for i, a := range Algorithms(c) {
			for n := 1; n <= 4<<20; n *= 4 {
				p := Point{Collective: c, Algorithm: a, Bytes: n, Repeats: 1}
				if c == PointToPoint || c == Stream {
					p.Predicted = m.Pair(0, 7).Time(float64(n))
				} else {
					p.Predicted, _ = m.Predict(c, a, n, 0)
				}
				p.Seconds = p.Predicted * (1.05 + .1*float64((i*5+n/3)%4))
				p.Bandwidth = volume(c, r.Ranks) * float64(n) / p.Seconds
				if a == Raw {
					p.Predicted = 0
				}
				r.Points = append(r.Points, p)
			}
		}
	}
	r.summarize()
	return r
}

func wellFormed(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFewRanksAndOddSizes: one rank, size 0, sizes that are not a multiple of a word, and barriers
// are measured and drawn.
func TestFewRanksAndOddSizes(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		m := memlink.New(ranks, nil)
		o := Options{Sizes: []int{0, 5, 1024}, Repetitions: 1, Collectives: append([]collective.Collective{PointToPoint}, collective.Collectives...)}
		r := run(t, m, ranks, nil, o)
		var b, text bytes.Buffer
		if err := errors.Join(r.Figure(&b), r.Text(&text),
			json.NewEncoder(io.Discard).Encode(r)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Error("the figure has coordinates that are no numbers")
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	link := memlink.New(1, nil).Link(0)
	for want, o := range map[string]Options{
		"no collective \"scan\"": {Collectives: []collective.Collective{"scan"}},
		"expected rising sizes":  {Sizes: []int{4, 4}},
	} {
		if _, err := Run(t.Context(), link, nil, o); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestMemoryLimitsSizes: sizes that do not fit into memory are skipped.
func TestMemoryLimitsSizes(t *testing.T) {
	r := run(t, memlink.New(2, nil), 2, nil,
		Options{Sizes: []int{16, maxMemory}, Repetitions: 1})
	for _, p := range r.Points {
		if p.Bytes != 16 {
			t.Errorf("%s of %d bytes was measured", p.Collective, p.Bytes)
		}
	}
}

func TestCancelEndsTheMeasurement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Run(ctx, memlink.New(2, nil).Link(0), nil, Options{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnits(t *testing.T) {
	for got, want := range map[string]string{
		duration(0): "0", duration(5e-9): "5 ns", duration(12.34e-6): "12.3 µs",
		duration(.9996e-3): "1 ms", duration(2): "2 s",
		rate(1.5e9): "1.5 GB/s", rate(999.6e3): "1 MB/s", rate(1e3): "1 kB/s",
		size(1536): "1536 B", size(4 << 20): "4 MiB", size(1 << 30): "1 GiB",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
