package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/internal/trace"
)

var ofOneField = resultlines.Form{Fields: []resultlines.Field{{Name: "rank"}}}

// TestTheResultOfARun: the result of a run can be fetched like that of a master's job while it is
// offered.
func TestTheResultOfARun(t *testing.T) {
	l := source(t)
	s := New(l, Options{Gate: gate(t)})
	check(t, l.Record(&trace.End{Job: "bfs", State: trace.Done, Ended: trace.Converged}))
	begin(t, l, "other")
	expect := func(path string, status int, want string) {
		t.Helper()
		if w := asked(s, "GET", "/api/v1/jobs/"+path, nil); w.Code != status ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d %s, expected %d and %s", path, w.Code, w.Body, status, want)
		}
	}
	nothing := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			for _, path := range []string{"values", "value?vertex=1", "result"} {
				expect(id+"/"+path, http.StatusNotFound, "there is no result of job "+id)
			}
		}
	}
	nothing("1", "2")
	withdraw := l.Offer("bfs", ofOneField, func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "1 0.5\n2 0.25\n")
		if err == nil {
			_, err = io.WriteString(w, "3 0.75\n")
		}
		return err
	})
	if v := summed(t, s, "1"); v.Vertices != 3 || v.Fields[0].Name != "rank" ||
		fmt.Sprint(v.Fields[0].Top) != "[{3 [0.75]} {1 [0.5]} {2 [0.25]}]" {
		t.Errorf("found %+v", v)
	}
	expect("1/value?vertex=2", http.StatusOK, `{"fields":["rank"],"vertex":"2","values":["0.25"]}`)
	expect("1/value?vertex=4", http.StatusNotFound, "no vertex")
	expect("1/result", http.StatusOK, "1 0.5\n2 0.25\n3 0.75\n")
	expect("1", http.StatusOK, `"result":true`)
	expect("9/values", http.StatusNotFound, "there is no job")
	nothing("2")
	withdraw()
	nothing("1")
	var j map[string]any
	check(t, json.Unmarshal(asked(s, "GET", "/api/v1/jobs/1", nil).Body.Bytes(), &j))
	if _, there := j["result"]; there {
		t.Errorf("found %v when it is withdrawn", j)
	}
}

// TestAWithdrawnResultIsLetGo: withdraw returns after all readers have stopped. They get an error.
func TestAWithdrawnResultIsLetGo(t *testing.T) {
	l := source(t)
	reading, left := make(chan struct{}), false
	withdraw := l.Offer("bfs", ofOneField, func(ctx context.Context, _ io.Writer) error {
		close(reading)
		<-ctx.Done()
		left = true
		return ctx.Err()
	})
	told := make(chan error)
	go func() { told <- l.Result(context.Background(), "1", func([]byte) error { return nil }) }()
	<-reading
	withdraw()
	if !left {
		t.Error("it was withdrawn under a reader")
	}
	if err := <-told; !errors.Is(err, errClosing) {
		t.Errorf("found %v, expected %v", err, errClosing)
	}
}

// TestAnErrorOfTheValuesIsTold: an error of the values, such as a panic in Output, is reported.
func TestAnErrorOfTheValuesIsTold(t *testing.T) {
	l := source(t)
	s := New(l, Options{Gate: gate(t)})
	defer l.Offer("bfs", ofOneField,
		func(context.Context, io.Writer) error { return errors.New("the value of 3 panics") })()
	for _, path := range []string{"values", "value?vertex=1", "result"} {
		if w := asked(s, "GET", "/api/v1/jobs/1/"+path,
			nil); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(),
			"the value of 3 panics") {
			t.Errorf("%s: status %d %s", path, w.Code, w.Body)
		}
	}
}
