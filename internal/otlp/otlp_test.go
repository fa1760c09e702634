package otlp

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector is a server that receives spans.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*v1.Span
	service string
	headers http.Header
	answers []int // status codes of the next answers; then 200
	posts   int
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.posts++
		if len(c.answers) > 0 {
			code := c.answers[0]
			c.answers = c.answers[1:]
			if code != 200 {
				w.WriteHeader(code)
				fmt.Fprint(w, strings.Repeat("x", 1<<20))
				return
			}
		}
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
				body, err = io.ReadAll(z)
			}
		}
		var data v1.TracesData
		if err == nil {
			err = proto.Unmarshal(body, &data)
		}
		if err != nil || r.Method != "POST" ||
			r.Header.Get("Content-Type") != "application/x-protobuf" || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		c.headers = r.Header
		for _, rs := range data.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				if a.Key == "service.name" {
					c.service = a.Value.GetStringValue()
				}
			}
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	return c
}

func newExporter(t *testing.T, o trace.ExportOptions) *Exporter {
	t.Helper()
	o.Service, o.Version = "superstep", "v1"
	e, err := New(t.Context(), o)
	if err != nil || e == nil {
		t.Fatal(e, err)
	}
	return e.(*Exporter)
}

// tell records a run of two partitions in a journal.
func tell(j trace.Journal, name string, supersteps int, state string) {
	_ = j.Record(&trace.Stage{Stage: "reading", Seconds: .5})
	_ = j.Record(&trace.Job{Job: name, Program: "bfs", Graph: "star", Began: time.Now()})
	_ = j.Record(&trace.Job{Job: name, More: true, Partitions: 2, Vertices: 10})
	for s := range supersteps {
		step := &record.Superstep{Job: name, Superstep: s, Scheme: "pull", Delivery: "pull", Reason: "few"}
		for p := range 2 {
			step.Partitions = append(step.Partitions, record.Partition{
				Partition: p, Computed: 3, Bytes: 4,
				Times: record.Seconds{Traverse: .001 * float64(1+p), Compute: .002, Total: .01},
			})
		}
		_ = j.Record(step)
	}
	_ = j.Record(&trace.End{Job: name, State: state, Error: "why", Supersteps: supersteps})
}

// tree formats spans as a tree. Children are sorted by start.
func tree(spans []*v1.Span) string {
	slices.SortStableFunc(spans, func(a, b *v1.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	ids := map[string]bool{}
	for _, s := range spans {
		ids[string(s.SpanId)] = true
	}
	var b strings.Builder
	var write func(parent string, depth int)
	write = func(parent string, depth int) {
		for _, s := range spans {
			if string(s.ParentSpanId) == parent || depth == 0 && !ids[string(s.ParentSpanId)] {
				fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", depth), s.Name)
				write(string(s.SpanId), depth+1)
			}
		}
	}
	write("none", 0)
	return b.String()
}

func found(s *v1.Span, key string) *commonpb.AnyValue {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return nil
}

func valueOf(s *v1.Span, key string) string { return found(s, key).String() }
func textOf(s *v1.Span, key string) string  { return found(s, key).GetStringValue() }
func numberOf(s *v1.Span, key string) int   { return int(found(s, key).GetIntValue()) }

func TestSpans(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20secret,other=1")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	e := newExporter(t, trace.ExportOptions{Root: "superstep run"})
	j := e.Journal()
	tell(j, "bfs", 2, trace.Done)
	tell(j, "bfs"+trace.WarmUp, 2, trace.Done)
	tell(j, "two", 0, trace.Failed)
	e.Close()
	want := `superstep run
  reading
  reading
  reading
  job bfs
    superstep 0
      traverse
      compute
    superstep 1
      traverse
      compute
  job bfs
`
	// The three stages begin first.
	if got := tree(c.spans); got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
	if c.service != "superstep" || c.headers.Get("X-Key") != "a secret" ||
		c.headers.Get("Other") != "1" {
		t.Errorf("service %q, headers %v", c.service, c.headers)
	}
	for _, s := range c.spans {
		if fmt.Sprintf("%x", s.TraceId) != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s is in trace %x", s.Name, s.TraceId)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s ends before it begins", s.Name)
		}
		if s.Name == "job bfs" && (numberOf(s, "superstep.vertices") != 10 ||
			numberOf(s, "superstep.partitions") != 2) {
			t.Errorf("a job whose graph was loaded after it began has %v", s.Attributes)
		}
		switch {
		case s.Name == "job bfs" && valueOf(s, "superstep.job") == "two":
			if s.Status.Code != v1.Status_STATUS_CODE_ERROR || s.Status.Message != "why" {
				t.Errorf("a job that failed has status %v", s.Status)
			}
		case s.Name == "superstep 1":
			if took := s.EndTimeUnixNano - s.StartTimeUnixNano; took != 10e6 {
				t.Errorf("superstep 1 took %d ns", took)
			}
			if a := valueOf(s, "superstep.active") + valueOf(s,
				"superstep.reason"); !strings.Contains(a, "6") || !strings.Contains(a, "few") {
				t.Errorf("superstep 1 has %v", s.Attributes)
			}
		case s.Name == "traverse":
			if took := s.EndTimeUnixNano - s.StartTimeUnixNano; took != 2e6 ||
				!strings.Contains(valueOf(s, "superstep.partition"), "1") {
				t.Errorf("traverse took %d ns, %v", took, s.Attributes)
			}
		}
	}
}

// TestManySupersteps: only the first supersteps of each search have spans, for as many searches as
// Graph500 has. The job's span has the number of supersteps without one.
func TestManySupersteps(t *testing.T) {
	first, second := slices.Repeat([]string{"one"}, maxSupersteps+7), []string{}
	for range maxSupersteps + 3 { // searches in turn
		first, second = append(first, "bfs root 1"), append(second, "bfs root 1", "sssp root 1")
	}
	var many []string
	for i := range maxSearches + 40 {
		many = append(many, fmt.Sprint("root ", i))
	}
	for name, k := range map[string]struct {
		searches       []string // of successive supersteps
		spans, without int
	}{
		"long":             {first[:maxSupersteps+7], maxSupersteps, 7},
		"of two":           {first, 2 * maxSupersteps, 10},
		"searches in turn": {second, 2 * maxSupersteps, 6},
		"of many searches": {slices.Repeat(many, 2), 2 * maxSearches, 80},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			e := newExporter(t, trace.ExportOptions{})
			j := e.Journal()
			for range 2 { // the second job has its own count
				_ = j.Record(&trace.Job{Job: "one", Program: "p", Began: time.Now()})
				for i, search := range k.searches {
					_ = j.Record(&record.Superstep{Job: search, Superstep: i})
					if i%500 == 499 { // the queue of spans is bounded
						_ = e.provider.ForceFlush(t.Context())
					}
				}
				_ = j.Record(&trace.End{Job: "one", State: trace.Done})
			}
			e.Close()
			supersteps := 0
			for _, s := range c.spans {
				if strings.HasPrefix(s.Name, "superstep ") {
					supersteps++
					i, _ := strconv.Atoi(strings.TrimPrefix(s.Name, "superstep "))
					want := strings.TrimPrefix(k.searches[i], "one")
					if got := textOf(s, "superstep.search"); got != want {
						t.Fatalf("superstep %d is of search %q, expected %q", i, got, want)
					}
				} else if got := numberOf(s, "superstep.supersteps_without_span"); got != k.without {
					t.Errorf("%d supersteps without a span, expected %d", got, k.without)
				}
			}
			if supersteps != 2*k.spans {
				t.Errorf("%d supersteps have spans, expected %d", supersteps, 2*k.spans)
			}
		})
	}
}

// TestNothingWithoutAnEndpoint: without an endpoint there is no exporter.
func TestNothingWithoutAnEndpoint(t *testing.T) {
	for _, set := range []map[string]string{
		{},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"},
	} {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"} {
			t.Setenv(name, set[name])
		}
		e, err := New(t.Context(), trace.ExportOptions{})
		if e != nil || err != nil {
			t.Errorf("%v: found %v, %v", set, e, err)
		}
	}
	goleak.VerifyNone(t)
}

func TestCollectorInTrouble(t *testing.T) {
	for name, k := range map[string]struct {
		answers []int
		posts   int
		spans   bool
		log     string
	}{
		"busy":        {[]int{502, 429}, 3, true, ""},
		"busy always": {slices.Repeat([]int{503}, 100), 0, false, "spans were lost"},
		"refuses":     {[]int{401}, 1, false, "401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			c.answers = k.answers
			var log bytes.Buffer
			e := newExporter(t, trace.ExportOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
			e.closing = 300 * time.Millisecond
			if k.spans {
				e.closing = closingTime
			}
			tell(e.Journal(), "one", 1, trace.Done)
			e.Close()
			if log.Len() > 600 {
				t.Errorf("a log of %d bytes", log.Len())
			}
			if k.posts != 0 && c.posts != k.posts || (len(c.spans) > 0) != k.spans ||
				!strings.Contains(log.String(), k.log) || (k.log == "") != (log.Len() == 0) {
				t.Errorf("%d posts, %d spans, log %q", c.posts, len(c.spans), &log)
			}
		})
	}
	// The log reports it once, and in the end the number of further failures.
	t.Run("nobody there", func(t *testing.T) {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
		for supersteps, lines := range map[int]int{1: 1, maxSupersteps: 2} {
			var log bytes.Buffer
			e := newExporter(t, trace.ExportOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
			tell(e.Journal(), "one", supersteps, trace.Done)
			e.Close()
			if strings.Count(log.String(), "\n") != lines ||
				!strings.Contains(log.String(), "spans were lost") ||
				strings.Contains(log.String(), "more spans were lost") != (lines == 2) {
				t.Errorf("%d supersteps: log %q", supersteps, &log)
			}
		}
	})
}

// TestRedirectsAreNotFollowed: spans and headers, which may be secret, are not sent to another
// host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, code := range []int{302, 307} {
		var posts, reached atomic.Int32
		other := httptest.NewServer(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		defer other.Close()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			posts.Add(1)
			http.Redirect(w, r, other.URL, code)
		}))
		defer s.Close()
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
		t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=secret")
		var log bytes.Buffer
		e := newExporter(t, trace.ExportOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
		tell(e.Journal(), "one", 1, trace.Done)
		e.Close()
		if posts.Load() != 1 || reached.Load() != 0 ||
			!strings.Contains(log.String(), fmt.Sprint(s.URL, "/v1/traces: ", code)) {
			t.Errorf("%d: %d posts, %d to the other host, log %q", code, posts.Load(),
				reached.Load(), &log)
		}
	}
}

// TestCertificates: the collector checks the client's certificate, and the client checks the
// collector's. Close closes the connection.
func TestCertificates(t *testing.T) {
	var posts atomic.Int32
	ended := make(chan struct{}, 1)
	s := httptest.NewUnstartedServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			ended <- struct{}{}
		}
	}
	s.StartTLS()
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{
		"CERTIFICATE":        {Type: "CERTIFICATE", Bytes: s.Certificate().Raw},
		"CLIENT_CERTIFICATE": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw},
		"CLIENT_KEY":         {Type: "PRIVATE KEY", Bytes: key},
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("OTEL_EXPORTER_OTLP_"+name, file)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	e := newExporter(t, trace.ExportOptions{})
	tell(e.Journal(), "one", 1, trace.Done)
	e.Close()
	if posts.Load() != 1 {
		t.Errorf("%d posts", posts.Load())
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the connection is open after Close")
	}
}

func TestEnvironment(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	const (
		headers = ": expected key=value, escaped as in a URL"
		parts   = "OTEL_EXPORTER_OTLP_ENDPOINT: found a user, query or fragment, expected a URL without: OTEL_EXPORTER_OTLP_HEADERS is for secrets"
		address = ", expected a URL such as http://127.0.0.1:4318"
		both    = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: found one, expected both"
	)
	for _, k := range []struct {
		set  []string // name and value, after OTEL_EXPORTER_OTLP_
		want string   // in the error
	}{
		{[]string{"ENDPOINT", "http://c:4318"}, ""},
		{[]string{"TRACES_ENDPOINT", "http://c:4318/own"}, ""},
		{[]string{"ENDPOINT", "c:4317"}, `OTEL_EXPORTER_OTLP_ENDPOINT: found "c:4317"` + address},
		{[]string{"ENDPOINT", "http://a", "TRACES_ENDPOINT", "b"}, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: found "b"` + address},
		{[]string{"ENDPOINT", "ftp://me:password@c"}, parts},
		{[]string{"ENDPOINT", "http://me:password@c/p"}, parts},
		{[]string{"ENDPOINT", "http://c/p?key=abc"}, parts},
		{[]string{"ENDPOINT", "http://c/p#abc"}, parts},
		{[]string{"ENDPOINT", "https://c", "INSECURE", "false"}, ""},
		{[]string{"ENDPOINT", "http://c", "INSECURE", "True"}, ""},
		{[]string{"ENDPOINT", "https://c", "INSECURE", "true"}, `OTEL_EXPORTER_OTLP_INSECURE: found "true", which contradicts https://c`},
		{[]string{"TRACES_ENDPOINT", "http://c", "INSECURE", "true", "TRACES_INSECURE", "FALSE"}, `OTEL_EXPORTER_OTLP_TRACES_INSECURE: found "FALSE", which contradicts http://c`},
		{[]string{"ENDPOINT", "http://c", "PROTOCOL", "grpc"}, `OTEL_EXPORTER_OTLP_PROTOCOL: found "grpc", expected http/protobuf or http/json`},
		{[]string{"ENDPOINT", "http://c", "PROTOCOL", "GRPC"}, `OTEL_EXPORTER_OTLP_PROTOCOL: found "GRPC", expected http/protobuf or http/json`},
		{[]string{"ENDPOINT", "http://c", "PROTOCOL", "grpc", "TRACES_PROTOCOL", "http/protobuf"}, ""},
		{[]string{"ENDPOINT", "http://c", "COMPRESSION", "none"}, ""},
		{[]string{"ENDPOINT", "http://c", "COMPRESSION", "zip"}, `OTEL_EXPORTER_OTLP_COMPRESSION: found "zip", expected none or gzip`},
		{[]string{"ENDPOINT", "http://c", "TIMEOUT", "5s"}, `OTEL_EXPORTER_OTLP_TIMEOUT: found "5s", expected milliseconds, 1 to 600000`},
		{[]string{"ENDPOINT", "http://c", "TRACES_TIMEOUT", "0"}, `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: found "0", expected milliseconds, 1 to 600000`},
		{[]string{"ENDPOINT", "https://c", "CERTIFICATE", none}, `OTEL_EXPORTER_OTLP_CERTIFICATE: open ` + none + `: no such file or directory`},
		{[]string{"ENDPOINT", "https://c", "CERTIFICATE", "otlp_test.go"}, `OTEL_EXPORTER_OTLP_CERTIFICATE: found no certificate in otlp_test.go`},
		{[]string{"ENDPOINT", "https://c", "CLIENT_CERTIFICATE", none}, both},
		{[]string{"ENDPOINT", "https://c", "CLIENT_KEY", none}, both},
		{[]string{"ENDPOINT", "https://c", "CLIENT_CERTIFICATE", none, "CLIENT_KEY", none}, `OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: open ` + none + `: no such file or directory`},
		{[]string{"ENDPOINT", "http://c", "HEADERS", "authorization=Bearer%20x, other=a b==,"}, ""},
		{[]string{"ENDPOINT", "http://c", "HEADERS", "authorization=Bearer%20x,oops"}, `OTEL_EXPORTER_OTLP_HEADERS: header 2` + headers},
		{[]string{"ENDPOINT", "http://c", "HEADERS", "a=%0"}, `OTEL_EXPORTER_OTLP_HEADERS: header 1` + headers},
		{[]string{"ENDPOINT", "http://c", "HEADERS", "a=%0d%0ab"}, `OTEL_EXPORTER_OTLP_HEADERS: header 1` + headers},
		{[]string{"ENDPOINT", "http://c", "HEADERS", "a=b,=c"}, `OTEL_EXPORTER_OTLP_HEADERS: header 2` + headers},
		{[]string{"ENDPOINT", "http://c", "HEADERS", "Authorization: Basic c2VjcmV0=", "TRACES_HEADERS", "a=b"}, `OTEL_EXPORTER_OTLP_HEADERS: header 1` + headers},
		{[]string{"ENDPOINT", "http://c", "HEADERS", "a=b", "TRACES_HEADERS", "Authorization: Basic c2VjcmV0="}, `OTEL_EXPORTER_OTLP_TRACES_HEADERS: header 1` + headers},
	} {
		t.Run("", func(t *testing.T) {
			for i := 0; i < len(k.set); i += 2 {
				t.Setenv("OTEL_EXPORTER_OTLP_"+k.set[i], k.set[i+1])
			}
			e, err := New(t.Context(), trace.ExportOptions{})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != k.want || (e == nil) != (err != nil) {
				t.Errorf("%v: found %v, %s, expected %s", k.set, e, got, k.want)
			}
			if e != nil {
				e.Close()
			}
		})
	}
}

// TestRunDoesNotWait: a hanging collector delays only the end of a run, for a limited time.
func TestRunDoesNotWait(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "300")
	e := newExporter(t, trace.ExportOptions{})
	e.closing = 300 * time.Millisecond
	for i := range 8 {
		tell(e.Journal(), fmt.Sprint(i), maxSupersteps, trace.Done)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); e.Close() }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("closing takes for ever")
	}
}

// TestSpansOfWhatIsNoText: spans are not lost if a graph's name and an error are not UTF-8.
func TestSpansOfWhatIsNoText(t *testing.T) {
	c := newCollector(t)
	e := newExporter(t, trace.ExportOptions{})
	j := e.Journal()
	_ = j.Record(&trace.Job{Job: "bfs", Program: "bfs", Graph: "\xff.el", Partitions: 1, Vertices: 10, Began: time.Now()})
	_ = j.Record(&trace.End{Job: "bfs", State: trace.Failed, Error: "no \xff"})
	e.Close()
	if len(c.spans) != 1 || c.spans[0].Status.Message != "no \ufffd" ||
		!strings.Contains(valueOf(c.spans[0], "superstep.graph"), "\ufffd.el") {
		t.Errorf("found %v", c.spans)
	}
}
