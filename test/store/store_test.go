// Package store_test tests the S3 store against servers: one in this process, which may fail, and
// versitygw in a process of its own. Start with store_test.go.
package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	_ "github.com/superstep-go/superstep/drivers/s3"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

// serve starts an S3 server with a bucket in this process, behind a handler. It sets the
// environment for it.
func serve(t *testing.T, behind func(http.Handler) http.Handler) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(behind(gofakes3.New(backend).Server()))
	t.Cleanup(server.Close)
	environment(t, server.URL)
}

func environment(t *testing.T, url string) {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL", url)
	t.Setenv("AWS_ACCESS_KEY_ID", "tester")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
	t.Setenv("AWS_REGION", "us-east-1")
}

// free returns an unused address.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func open(t *testing.T, place string) store.Store {
	t.Helper()
	s, err := store.Open(place)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestInProcess(t *testing.T) {
	n := 0
	serve(t, func(h http.Handler) http.Handler { return h })
	storetest.Run(t, func(t *testing.T) store.Store {
		n++
		return open(t, fmt.Sprintf("s3://bucket/test/%d", n))
	})
}

// faulty is a server that answers some requests with errors, truncates some answers, and loses some
// answers of performed requests.
type faulty struct {
	mu     sync.Mutex
	random *rand.Rand
	of     int // one of how many requests fails
	next   http.Handler
	faults int
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	fault := 0
	if f.random.IntN(f.of) == 0 {
		fault = 1 + f.random.IntN(3)
		f.faults++
	}
	f.mu.Unlock()
	switch fault {
	case 1: // refuse the request
		w.WriteHeader(http.StatusServiceUnavailable)
	case 2: // perform it, and lose the answer
		f.next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 3: // truncate the answer
		done := httptest.NewRecorder()
		f.next.ServeHTTP(done, r)
		for name, values := range done.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(done.Code)
		_, _ = w.Write(done.Body.Bytes()[:done.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	default:
		f.next.ServeHTTP(w, r)
	}
}

// TestFaulty: with a server that fails one of four requests, all stored objects are complete, and
// one of several concurrent commits succeeds.
func TestFaulty(t *testing.T) {
	f := &faulty{random: rand.New(rand.NewPCG(1, 2)), of: 4}
	serve(t, func(h http.Handler) http.Handler { f.next = h; return f })
	s := open(t, "s3://bucket")
	for i := range 30 {
		name, data := fmt.Sprintf("o/%d", i), bytes.Repeat([]byte{byte(i)}, 1000+i)
		if err := s.Put(t.Context(), name, bytes.NewReader(data), int64(len(data))); err != nil {
			t.Fatal(err)
		}
		if got, err := store.Get(t.Context(), s, name, 1<<20); err != nil ||
			!bytes.Equal(got, data) {
			t.Fatalf("object %d is another: %v", i, err)
		}
		won := 0
		for writer := range 3 {
			err := s.PutIfAbsent(t.Context(), fmt.Sprintf("commit/%d", i),
				fmt.Appendf(nil, "writer %d", writer))
			if err == nil {
				won++
			} else if !errors.Is(err, fs.ErrExist) {
				t.Fatal(err)
			}
		}
		if won != 1 {
			t.Fatalf("%d writers committed, expected 1", won)
		}
	}
	if f.faults < 20 {
		t.Errorf("there were %d faults", f.faults)
	}
}

// TestGone: with a server that always fails or does not answer, calls end with an error, and end
// when their context does.
func TestGone(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	environment(t, server.URL)
	s := open(t, "s3://bucket")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("enough"))
	defer cancel()
	if err := s.PutIfAbsent(ctx, "x", []byte("1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("found %v", err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://"+free(t))
	s = open(t, "s3://bucket")
	if _, err := store.Get(t.Context(), s, "x", 1); err == nil ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("found %v", err)
	}
}

// TestNoBucket: the errors for a missing bucket and a wrong key tell what to do.
func TestNoBucket(t *testing.T) {
	serve(t, func(h http.Handler) http.Handler { return h })
	_, err := store.Get(t.Context(), open(t, "s3://nothing"), "x", 1)
	if !errors.Is(err, store.ErrNoBucket) || !strings.Contains(err.Error(), "s3://nothing") {
		t.Errorf("found %v", err)
	}
}

// binary is the path of the program.
type binary string

// built builds the program, once for all tests.
func built(t *testing.T) binary {
	t.Helper()
	superstep.Do(func() {
		out, err := exec.Command("go", "build", "-C", "../..", "-ldflags", "-s -w", "-o",
			superstep.program, "./cmd/superstep").CombinedOutput()
		if err != nil {
			superstep.failed = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if superstep.failed != nil {
		t.Fatal(superstep.failed)
	}
	return binary(superstep.program)
}

// superstep is the program that the tests run.
var superstep struct {
	sync.Once
	program string // its path
	failed  error
}

// run runs a command that must succeed, and returns its output.
func (b binary) run(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), string(b), arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("superstep %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// up starts a cluster of two workers. It returns the master's address.
func (b binary) up(t *testing.T, more ...string) (address string) {
	t.Helper()
	address = free(t)
	cmd := exec.Command(string(b),
		append([]string{"up", "--workers", "2", "--threads", "1", "--listen", address, "--data-root", "s3://bucket"}, more...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// not killed with the test's context, because its workers must end, too
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the cluster: %v\n%s", err, &said)
		}
	})
	return address
}

func TestGraphs(t *testing.T) {
	program := built(t)
	serve(t, func(h http.Handler) http.Handler { return h })
	run := func(arguments ...string) string {
		t.Helper()
		return program.run(t, arguments...)
	}
	dir := t.TempDir()
	search := func(graph, output string, more ...string) string {
		t.Helper()
		run(append([]string{"run", "bfs", "-p", "source=1", "--graph", graph, "--undirected", "--output", output}, more...)...)
		if bucket, name := store.SplitS3(output); bucket == "s3://bucket" {
			data, err := store.Get(t.Context(), open(t, bucket), name, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		data, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, name := range []string{"g.el", "g.el.gz", "g.el.zst", "g.graph500", "g.mtx"} {
		for _, place := range []string{dir + "/", "s3://bucket/graphs/"} {
			run("generate", "kronecker:scale=12", "--output", place+name)
		}
		want := search(dir+"/"+name, dir+"/want.txt")
		if len(want) < 10_000 {
			t.Fatalf("%s: the result is %q", name, want)
		}
		if got := search("s3://bucket/graphs/"+name, "s3://bucket/results/"+name+
			".txt"); got != want {
			t.Errorf("%s: the result is another", name)
		}
	}
	address := program.up(t)
	on := []string{"--master", address, "--workers", "2"}
	want := search(dir+"/g.el", dir+"/want.txt")
	if got := search("s3://bucket/graphs/g.el", "s3://bucket/results/cluster", on...); got != want {
		t.Errorf("a cluster's result is another")
	}
	for arguments, says := range map[string]string{
		"--graph s3://bucket/graphs/none.el":                             "s3://bucket/graphs/none.el",
		"--graph s3://nothing/g.el":                                      "no such bucket",
		"--graph s3://bucket/":                                           "s3://bucket: there is no snapshot",
		"--graph s3://bucket/graphs/g.el --output s3://nothing/result":   "no such bucket",
		"--graph s3://bucket/graphs/g.el --output s3://bucket/../result": "result",
	} {
		all := append([]string{"run", "bfs", "-p", "source=1"}, strings.Fields(arguments)...)
		out, err := exec.CommandContext(t.Context(), string(program), all...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), says) ||
			strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: found %v, %q, expected a line with %q", arguments, err, out, says)
		}
	}
}
