package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
	"github.com/superstep-go/superstep/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a master with one job and unreliable connections. breaks has, for each kind of call, the
// numbers of messages after which successive calls break.
type fake struct {
	control.UnimplementedClusterHandler
	events []*control.JobEvent
	result string
	state  control.JobState // the job's state
	// the events of another master, which runs the job when it is asked for
	next []*control.JobEvent

	mu        sync.Mutex
	breaks    map[string][]int
	keys      []string
	waits     []uint64 // how long jobs wait for confirmation, in milliseconds
	confirmed []string // confirmed jobs
	offsets   []uint64
	column    []*control.SendColumnRequest // pieces in order of arrival
	refusals  []connect.Code               // of calls to drop a graph, one each
	wires     []net.Conn
	unknown   bool // the job is unknown
	mortal    bool // the first break of a watch is final
	closed    bool // refuses new connections
}

// breaking returns the number of messages after which a call breaks, or -1.
func (f *fake) breaking(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.breaks[call]) == 0 {
		return -1
	}
	n := f.breaks[call][0]
	f.breaks[call] = f.breaks[call][1:]
	return n
}

// cut breaks all connections.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = f.mortal
	for _, w := range f.wires {
		_ = w.Close()
	}
	f.wires = nil
}

func (f *fake) dial(ctx context.Context, network, address string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		f.wires = append(f.wires, c)
	}
	return c, err
}

func (f *fake) SubmitJob(_ context.Context, r *control.SubmitJobRequest) (*control.Job, error) {
	if r.Spec().Program == "none" {
		return nil, connect.NewError(connect.CodeInvalidArgument,
			errors.New("there is no algorithm"))
	}
	f.mu.Lock()
	f.keys = append(f.keys, r.Key)
	f.waits = append(f.waits, r.ConfirmMilliseconds)
	f.mu.Unlock()
	if f.breaking("submit") == 0 {
		panic(http.ErrAbortHandler)
	}
	return &control.Job{Id: "j1"}, nil
}

func (f *fake) ConfirmJob(_ context.Context, r *control.ConfirmJobRequest) (*control.Job, error) {
	f.mu.Lock()
	f.confirmed = append(f.confirmed, r.Id)
	f.mu.Unlock()
	if f.breaking("confirm") == 0 {
		panic(http.ErrAbortHandler)
	}
	return &control.Job{Id: "j1"}, nil
}

func (f *fake) SendColumn(
	_ context.Context, r *control.SendColumnRequest,
) (*control.SendColumnResponse, error) {
	f.mu.Lock()
	f.column = append(f.column, r)
	f.mu.Unlock()
	if f.breaking("column") == 0 {
		panic(http.ErrAbortHandler)
	}
	return &control.SendColumnResponse{}, nil
}

func (f *fake) GetJob(context.Context, *control.GetJobRequest) (*control.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unknown {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("there is no job"))
	}
	if len(f.next) > 0 {
		f.events, f.next = f.next, nil
		return &control.Job{Id: "j1", State: control.JobState_JOB_STATE_RUNNING}, nil
	}
	return &control.Job{Id: "j1", State: f.state}, nil
}

func (f *fake) WatchJob(
	_ context.Context, r *control.WatchJobRequest, s *connect.ServerStream[control.JobEvent],
) error {
	left := f.breaking("watch")
	for _, e := range f.events {
		if e.Sequence <= r.After {
			continue
		}
		if left == 0 {
			f.cut()
			panic(http.ErrAbortHandler)
		}
		left--
		if err := s.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) GetResult(
	_ context.Context, r *control.GetResultRequest, s *connect.ServerStream[control.ResultChunk],
) error {
	f.mu.Lock()
	f.offsets = append(f.offsets, r.Offset)
	f.mu.Unlock()
	left := f.breaking("result")
	for data := []byte(f.result)[r.Offset:]; len(data) > 0; {
		if left == 0 {
			panic(http.ErrAbortHandler)
		}
		left--
		n := min(10, len(data))
		if err := s.Send(&control.ResultChunk{Data: data[:n]}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// start serves f. It returns a client, and a function for the reports about its connection.
func start(t *testing.T, f *fake, patience time.Duration) (*Client, func() string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(control.NewClusterHandler(f))
	new(control.Health).Handle(mux)
	server := httptest.NewUnstartedServer(nil)
	server.Config = control.NewHTTPServer(mux, t.Context())
	server.Start()
	var mu sync.Mutex
	var told []string
	tell := func(word string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, word)
	}
	c, err := New(Options{
		Address: server.Listener.Addr().String(), Patience: patience, Dial: f.dial,
		Log: func(line string) {
			if line == "connected again" {
				tell("back")
			} else if strings.HasPrefix(line, "lost the connection: ") {
				tell("lost")
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		f.cut()
		server.Close()
	})
	return c, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(told, " ")
	}
}

func numbered(n int) []*control.JobEvent {
	var all []*control.JobEvent
	for i := range n {
		all = append(all, &control.JobEvent{Sequence: uint64(i +
			1), Body: &control.JobEvent_Log{Log: &control.LogLine{Text: fmt.Sprint(i + 1)}}})
	}
	return all
}

// TestFollowGoesOn: the connection breaks repeatedly. Each event arrives once, in order.
func TestFollowGoesOn(t *testing.T) {
	f := &fake{events: numbered(9), breaks: map[string][]int{"watch": {2, 0, 1, 3}}}
	c, told := start(t, f, time.Minute)
	var got []string
	err := c.Follow(t.Context(), "j1", func(e *control.JobEvent) error {
		got = append(got, e.GetLog().Text)
		return nil
	})
	if want := "1 2 3 4 5 6 7 8 9"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("found %v, %v, expected %s", got, err, want)
	}
	if rest := strings.Trim(strings.ReplaceAll(told(), "lost back", ""), " "); told() == "" ||
		rest != "" {
		t.Errorf("messages %q, expected \"lost back\" for each loss of an established connection",
			told())
	}
}

func TestFollowEnds(t *testing.T) {
	f := &fake{events: numbered(3), breaks: map[string][]int{"watch": {1}}, unknown: true}
	c, _ := start(t, f, time.Minute)
	err := c.Follow(t.Context(), "j1", func(*control.JobEvent) error { return nil })
	if want := "the master has restarted and does not know job j1"; err == nil ||
		err.Error() != want {
		t.Errorf("found %v, expected %q", err, want)
	}
	full := errors.New("no space")
	if err := c.Follow(t.Context(), "j1", func(*control.JobEvent) error { return full }); !errors.Is(err, full) {
		t.Errorf("found %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	err = c.Follow(ctx, "j1", func(*control.JobEvent) error { cancel(enough); return nil })
	if err != nil && !errors.Is(err, enough) { // the rest may already have arrived
		t.Errorf("found %v", err)
	}
}

// TestWaitForAnotherMaster: a job ended, but another master does not know that and runs it again.
// The client follows it until it ends there. If a master sends nothing more about a running job,
// the client does not ask forever.
func TestWaitForAnotherMaster(t *testing.T) {
	f := &fake{events: numbered(3), next: numbered(2), state: control.JobState_JOB_STATE_DONE}
	for _, e := range f.next {
		e.Sequence += 1 << 32
	}
	c, _ := start(t, f, time.Minute)
	var got []string
	each := func(e *control.JobEvent) error {
		got = append(got, e.GetLog().Text)
		return nil
	}
	at := &Place{}
	j, err := c.Wait(t.Context(), "j1", at, each)
	if err != nil || at.Missed != 0 || !j.State.Ended() || strings.Join(got, " ") != "1 2 3 1 2" {
		t.Errorf("found %v, %d missed, %v, %v", got, at.Missed, j, err)
	}
	f.state = control.JobState_JOB_STATE_RUNNING
	if _, err := c.Wait(t.Context(), "j1", &Place{}, each); err == nil ||
		!strings.Contains(err.Error(), "no more events") {
		t.Errorf("found %v", err)
	}
}

// lost begins the error of a client that gives up.
const lost = "lost the master at "

// TestPatienceEnds: the master is lost and does not come back.
func TestPatienceEnds(t *testing.T) {
	f := &fake{events: numbered(3), breaks: map[string][]int{"watch": {1}}, mortal: true}
	c, told := start(t, f, 300*time.Millisecond)
	// otherwise the client has never reached a master
	if _, err := c.Job(t.Context(), "j1"); err != nil {
		t.Fatal(err)
	}
	err := c.Follow(t.Context(), "j1", func(*control.JobEvent) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), lost) || !strings.Contains(err.Error(), "tried to reach it for 300ms") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("found %v", err)
	}
	if told() != "lost" {
		t.Errorf("messages %q", told())
	}
}

// TestLoop: watches break immediately without an event. The client gives up, and reports this once.
func TestLoop(t *testing.T) {
	f := &fake{events: numbered(3), breaks: map[string][]int{"watch": append([]int{1},
		make([]int, 10_000)...)}}
	c, told := start(t, f, time.Second)
	err := c.Follow(t.Context(), "j1", func(*control.JobEvent) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), lost) {
		t.Errorf("found %v", err)
	}
	if told() != "lost back" {
		t.Errorf("messages %q", told())
	}
}

// TestSubmitOnce: the answers to two calls are lost. The third call has the same key.
func TestSubmitOnce(t *testing.T) {
	f := &fake{breaks: map[string][]int{"submit": {0, 0}}}
	c, _ := start(t, f, time.Minute)
	j, err := c.Submit(t.Context(), &job.Spec{Program: "bfs"})
	if err != nil || j.Id != "j1" {
		t.Fatalf("found %v, %v", j, err)
	}
	if len(f.keys) < 3 || f.keys[0] == "" || f.keys[0] != f.keys[2] {
		t.Errorf("found keys %q", f.keys)
	}
	if last := f.waits[len(f.waits)-1]; last < uint64(time.Minute.Milliseconds()) {
		t.Errorf("the job waits %d ms for a client that tries for a minute", last)
	}
	_, err = c.Submit(t.Context(), &job.Spec{Program: "none"})
	if connect.CodeOf(err) != connect.CodeInvalidArgument ||
		err.Error() != "there is no algorithm" {
		t.Errorf("found %v", err)
	}
}

// TestConfirmAgain: the answers to two calls are lost.
func TestConfirmAgain(t *testing.T) {
	f := &fake{breaks: map[string][]int{"confirm": {0, 0}}}
	c, _ := start(t, f, time.Minute)
	if j, err := c.Confirm(t.Context(), "j1"); err != nil || j.Id != "j1" || len(f.confirmed) < 3 ||
		f.confirmed[2] != "j1" {
		t.Errorf("found %v, %v, %q", j, err, f.confirmed)
	}
}

// TestSendColumn sends pieces with their offsets. A piece whose answer is lost is sent again. An
// empty column is sent as one piece.
func TestSendColumn(t *testing.T) {
	for _, n := range []int{0, 10, control.ChunkSize, 3*control.ChunkSize + 5} {
		f := &fake{breaks: map[string][]int{"column": {-1, 0}}}
		c, _ := start(t, f, time.Minute)
		data := bytes.Repeat([]byte("7"), n)
		var about job.ColumnData
		err := c.SendColumn(t.Context(), &about, func(w io.Writer) error {
			_, err := w.Write(data[:n/2])
			if err == nil {
				_, err = w.Write(data[n/2:])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for i, r := range f.column {
			if r.Id != about.ID || len(r.Data) > control.ChunkSize || r.Offset > uint64(len(got)) ||
				r.Last && i < len(f.column)-2 {
				t.Fatalf("%d bytes: piece %d is of %d bytes from %d, last %t", n, i, len(r.Data),
					r.Offset, r.Last)
			}
			got = append(got[:r.Offset], r.Data...)
		}
		var sum store.Sum
		_, _ = sum.Write(data)
		if *about.Sum != sum {
			t.Errorf("%d bytes: found the sum %v, expected %v", n, about.Sum, sum)
		}
		if !bytes.Equal(got, data) || !f.column[len(f.column)-1].Last || n > control.ChunkSize &&
			len(f.column) < n/control.ChunkSize+2 {
			t.Errorf("%d bytes came as %d in %d pieces", n, len(got), len(f.column))
		}
	}
	enough := errors.New("enough")
	c, _ := start(t, &fake{}, time.Minute)
	if err := c.SendColumn(t.Context(), &job.ColumnData{}, func(io.Writer) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
}

// TestResultGoesOn: the connection breaks during a result. The client continues at the next byte.
func TestResultGoesOn(t *testing.T) {
	f := &fake{result: strings.Repeat("0123456789",
		7) + "end", breaks: map[string][]int{"result": {2, 3}}}
	c, _ := start(t, f, time.Minute)
	var got bytes.Buffer
	n, err := c.Result(t.Context(), "j1", false, &got)
	if err != nil || got.String() != f.result || int(n) != len(f.result) {
		t.Errorf("found %q, %d, %v", got.String(), n, err)
	}
	if len(f.offsets) < 3 || f.offsets[0] != 0 {
		t.Errorf("found offsets %v", f.offsets)
	}
}

// banner starts a server of another protocol, which writes a text to each connection, and returns
// its address.
func banner(t *testing.T, text string, closes bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = c.Write([]byte(text)) // the client may have gone
			if closes {
				_ = c.Close()
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		served.Wait()
	})
	return l.Addr().String()
}

// TestNoMaster: if there is no master at the address, a command fails at once, however long the
// client retries.
func TestNoMaster(t *testing.T) {
	began := time.Now()
	for what, want := range map[string]string{
		"nobody":  "cannot be reached: connection refused",
		"another": "is not a master",
		"ssh":     "is not a master",
		"old":     "is not a master",
		"closes":  "closes connections without an answer: it is not a master, or has too many connections",
	} {
		address := ""
		switch what {
		case "nobody":
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address = l.Addr().String()
			_ = l.Close()
		case "another":
			s := httptest.NewServer(http.NotFoundHandler())
			defer s.Close()
			address = s.Listener.Addr().String()
		case "ssh":
			address = banner(t, "SSH-2.0-OpenSSH_9.6\r\n", false)
		case "old":
			address = banner(t,
				"HTTP/1.0 505 HTTP Version Not Supported\r\nConnection: close\r\n\r\n<html>no</html>", true)
		case "closes":
			address = banner(t, "", true)
		}
		for call, do := range map[string]func(*Client) error{
			"submit": func(c *Client) error { _, err := c.Submit(t.Context(), &job.Spec{}); return err },
			"follow": func(c *Client) error {
				return c.Follow(t.Context(), "j1", func(*control.JobEvent) error { return nil })
			},
			"result": func(c *Client) error {
				_, err := c.Result(t.Context(), "j1", false, &bytes.Buffer{})
				return err
			},
			"job":    func(c *Client) error { _, err := c.Job(t.Context(), "j1"); return err },
			"cancel": func(c *Client) error { _, err := c.Cancel(t.Context(), "j1", ""); return err },
		} {
			lost := func(line string) {
				t.Errorf("%s, %s: reports the loss of a connection that never existed: %s",
					what, call, line)
			}
			c, err := New(Options{Address: address, Log: lost})
			if err != nil {
				t.Fatal(err)
			}
			err = do(c)
			c.Close()
			if err == nil || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %s: found %v, expected %q", what, call, err, want)
			}
		}
	}
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestTextsThatAreNoUTF8: they are refused at once, because a retry would not help.
func TestTextsThatAreNoUTF8(t *testing.T) {
	c, told := start(t, &fake{}, time.Hour)
	bad := "/graphs/\xff.txt"
	calls := map[string]func() error{
		"a file": func() error {
			_, err := c.Submit(t.Context(),
				&job.Spec{Program: "wcc", Source: &job.Source{Input: bad}})
			return err
		},
		"a parameter": func() error {
			_, err := c.Submit(t.Context(),
				&job.Spec{Program: "wcc", Parameters: map[string]string{"x": bad}})
			return err
		},
		"a parameter's name": func() error {
			_, err := c.Submit(t.Context(),
				&job.Spec{Program: "wcc", Parameters: map[string]string{bad: "x"}})
			return err
		},
		"a job":   func() error { _, err := c.Job(t.Context(), bad); return err },
		"a watch": func() error { return c.Follow(t.Context(), bad, func(*control.JobEvent) error { return nil }) },
		"a result": func() error {
			_, err := c.Result(t.Context(), bad, false, &bytes.Buffer{})
			return err
		},
		"a reason": func() error { _, err := c.Cancel(t.Context(), "j1", bad); return err },
	}
	for what, call := range calls {
		var text *control.TextError
		if err := call(); !errors.As(err, &text) || text.Text != bad ||
			strings.Contains(err.Error(), bad) {
			t.Errorf("%s: found %v", what, err)
		}
	}
	if told() != "" {
		t.Errorf("messages %q", told())
	}
}

// TestReach waits for a master that starts to listen later, and gives up if none does.
func TestReach(t *testing.T) {
	f := &fake{closed: true}
	c, _ := start(t, f, time.Minute)
	reached := make(chan error)
	go func() { reached <- c.Reach(t.Context()) }()
	f.mu.Lock()
	f.closed = false
	f.mu.Unlock()
	if err := <-reached; err != nil {
		t.Errorf("found %v", err)
	}

	f = &fake{closed: true}
	c, _ = start(t, f, 100*time.Millisecond)
	if err := c.Reach(t.Context()); err == nil ||
		!strings.HasSuffix(err.Error(), "connection refused (tried for 100ms)") {
		t.Errorf("found %v", err)
	}
	// A proxy in front of a missing master closes connections. A server of another protocol is not
	// a master.
	for address, want := range map[string]string{
		banner(t, "",
			true): ", or has too many connections \\(tried for 100ms\\)$",
		banner(t, "SSH-2.0-OpenSSH_9.6\r\n", true): `"SSH-2.0-OpenSSH_9.6"$`,
	} {
		c, err := New(Options{Address: address, Patience: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Reach(t.Context()); err == nil || !strings.Contains(err.Error(),
			" is not a master") || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Reach(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
}
