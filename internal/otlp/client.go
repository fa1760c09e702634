package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client posts spans. It is what otlptrace.New wants.
type client struct {
	config *config
	http   *http.Client
	log    *slog.Logger
	ctx    context.Context // of all posts
	end    context.CancelFunc

	mu         sync.Mutex
	complained time.Time // of the last complaint
	silent     int       // complaints since
}

// Bounds of a post.
const (
	tries        = 3
	firstBackoff = 250 * time.Millisecond
	maxAnswer    = 64 << 10
	complainGap  = time.Minute
)

func newClient(c *config, log *slog.Logger) *client {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c.tls
	ctx, end := context.WithCancel(context.Background())
	return &client{config: c, log: log, ctx: ctx, end: end, http: &http.Client{
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the collector sends elsewhere, which is not followed")
		},
	}}
}

func (c *client) close() {
	c.end()
	c.http.CloseIdleConnections()
}

// Start and Stop have nothing to do.
func (c *client) Start(context.Context) error { return nil }
func (c *client) Stop(context.Context) error  { return nil }

// UploadTraces posts spans. What fails is complained of and given up: the SDK would only print it.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	if len(spans) == 0 {
		return nil
	}
	// ExportTraceServiceRequest has the same single field; its package has gRPC in it.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err == nil && c.config.gzip {
		body, err = zipped(body)
	}
	if err == nil {
		err = c.post(ctx, body)
	}
	if err != nil {
		c.complain(err)
	}
	return nil
}

// post sends a body, again if the collector is busy, until the time is over.
func (c *client) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.timeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	backoff := firstBackoff
	for try := 1; ; try++ {
		again, wait, err := c.once(ctx, body)
		if err == nil || !again || try == tries {
			return err
		}
		select {
		case <-time.After(max(wait, backoff)):
		case <-ctx.Done():
			return err
		}
		backoff *= 2
	}
}

// once sends a body once, and says whether it is worth another try, and when.
func (c *client) once(ctx context.Context, data []byte) (more bool, wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.url, bytes.NewReader(data))
	if err != nil {
		return false, 0, err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "superstep")
	for k, v := range c.config.headers {
		r.Header.Set(k, v)
	}
	if c.config.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := c.http.Do(r)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, 0, fmt.Errorf("the collector at %s has not answered in time", r.URL.Host)
	case err != nil:
		return true, 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return false, 0, nil
	case code == http.StatusTooManyRequests || code == http.StatusBadGateway || code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return true, time.Duration(min(max(seconds, 0), 60)) * time.Second, fmt.Errorf("the collector at %s is busy: %s", r.URL.Host, answer.Status)
	default:
		return false, 0, fmt.Errorf("the collector at %s refuses: %s", r.URL.Host, answer.Status)
	}
}

// complain logs a failure; those that follow within a minute are counted.
func (c *client) complain(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.complained.IsZero() && time.Since(c.complained) < complainGap {
		c.silent++
		return
	}
	c.log.Warn("spans were lost", "error", err, "failures_before", c.silent)
	c.complained, c.silent = time.Now(), 0
}

func zipped(body []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(body)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}
