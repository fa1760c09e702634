package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/statefile"
)

// config is what the environment says of the collector. Its variables are those of the
// OpenTelemetry specification, of which the form for traces alone wins: OTEL_EXPORTER_OTLP_TRACES_X
// over OTEL_EXPORTER_OTLP_X.
type config struct {
	url     string
	headers map[string]string
	timeout time.Duration
	gzip    bool
	tls     *tls.Config
}

const defaultTimeout = 10 * time.Second

// fromEnvironment returns nil if no collector is named.
func fromEnvironment(get func(string) string) (*config, error) {
	if strings.EqualFold(strings.TrimSpace(get("OTEL_SDK_DISABLED")), "true") || strings.TrimSpace(get("OTEL_TRACES_EXPORTER")) == "none" {
		return nil, nil
	}
	name, value := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", strings.TrimSpace(get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
	if value == "" {
		name, value = "OTEL_EXPORTER_OTLP_ENDPOINT", strings.TrimSpace(get("OTEL_EXPORTER_OTLP_ENDPOINT"))
	}
	if value == "" {
		return nil, nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: found %q, expected a URL such as http://127.0.0.1:4318", name, redacted(value))
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	c := &config{url: u.String(), headers: map[string]string{}, timeout: defaultTimeout}
	first := func(what string) (string, string) {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + what, "OTEL_EXPORTER_OTLP_" + what} {
			if v := strings.TrimSpace(get(name)); v != "" {
				return name, v
			}
		}
		return "", ""
	}
	if name, v := first("PROTOCOL"); v != "" && v != "http/protobuf" {
		return nil, fmt.Errorf("%s: found %q, expected http/protobuf: nothing else is spoken here", name, v)
	}
	if name, v := first("TIMEOUT"); v != "" {
		ms, err := strconv.Atoi(v)
		if err != nil || ms <= 0 || ms > 600_000 {
			return nil, fmt.Errorf("%s: found %q, expected milliseconds, 1 to 600000", name, v)
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	switch name, v := first("COMPRESSION"); v {
	case "", "none":
	case "gzip":
		c.gzip = true
	default:
		return nil, fmt.Errorf("%s: found %q, expected gzip or none", name, v)
	}
	if name, v := first("HEADERS"); v != "" {
		if err := c.addHeaders(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if name, v := first("CERTIFICATE"); v != "" {
		if err := c.trust(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return c, nil
}

// addHeaders reads key=value,key=value, where values are escaped as in URLs. What is wrong is not
// quoted: it is a secret.
func (c *config) addHeaders(text string) error {
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		v, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil || strings.ContainsAny(key, " :\r\n") || strings.ContainsAny(v, "\r\n\x00") {
			return fmt.Errorf("header %d: expected key=value, escaped as in a URL", i+1)
		}
		c.headers[http.CanonicalHeaderKey(key)] = v
	}
	return nil
}

// trust takes a file with certificates as the only ones that may sign the collector's.
func (c *config) trust(file string) error {
	pem, err := statefile.ReadSmall(file)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s: found no certificate", file)
	}
	c.tls = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return nil
}

// redacted takes what may be a password out of a text that should be a URL.
func redacted(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "..." + text[i:]
	}
	return text
}
