package otlp

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/superstep-go/superstep/internal/statefile"
)

// prefixes are the prefixes of variables. A variable for traces takes precedence over one for all
// signals.
var prefixes = []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"}

// first returns the name and value of the variable that takes precedence. If none is set, the value
// is empty.
func first(what string) (name, value string) {
	for _, prefix := range prefixes {
		name = prefix + what
		if value = strings.TrimSpace(os.Getenv(name)); value != "" {
			break
		}
	}
	return name, value
}

// newHTTPClient returns the client for the collector that the environment names, or nil if it names
// none. The SDK reads the same variables. It prints and skips invalid values, even secrets;
// newHTTPClient returns an error instead.
func newHTTPClient() (*http.Client, error) {
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") ||
		strings.TrimSpace(os.Getenv("OTEL_TRACES_EXPORTER")) == "none" {
		return nil, nil
	}
	endpoint, address := first("ENDPOINT")
	if address == "" {
		return nil, nil
	}
	if strings.ContainsAny(address, "@?#") {
		return nil, fmt.Errorf("%s: found a user, query or fragment, expected a URL without: "+
			"OTEL_EXPORTER_OTLP_HEADERS is for secrets", endpoint)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: found %q, expected a URL such as http://127.0.0.1:4318",
			endpoint, address)
	}
	name, insecure := first("INSECURE") // the SDK uses it instead of the URL
	if insecure != "" && strings.EqualFold(insecure, "true") != (u.Scheme == "http") {
		return nil, fmt.Errorf("%s: found %q, which contradicts %s", name, insecure, address)
	}
	name, timeout := first("TIMEOUT")
	ms, err := strconv.Atoi(cmp.Or(timeout, "10000"))
	if err != nil || ms < 1 || ms > 600_000 {
		return nil, fmt.Errorf("%s: found %q, expected milliseconds, 1 to 600000", name, timeout)
	}
	files := &tls.Config{}
	err = cmp.Or(checkWord("PROTOCOL", "http/protobuf", "http/json"),
		checkWord("COMPRESSION", "none", "gzip"), checkHeaders(), readCertificates(files))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: files, IdleConnTimeout: time.Minute,
	}
	h := &http.Client{Transport: transport, Timeout: time.Duration(ms) * time.Millisecond}
	// A redirect would send the headers, which may be secrets, to another host.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h, nil
}

func checkWord(what string, words ...string) error {
	name, value := first(what)
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%s: found %q, expected %s", name, value, strings.Join(words, " or "))
}

// tokens are the characters of a header's name.
const tokens = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// checkHeaders checks both variables, because the SDK reads both. Errors do not quote values, which
// may be secrets.
func checkHeaders() error {
	for _, prefix := range prefixes {
		name := prefix + "HEADERS"
		for i, pair := range strings.Split(os.Getenv(name), ",") {
			key, value, ok := strings.Cut(pair, "=")
			key = strings.TrimSpace(key)
			value, err := url.PathUnescape(strings.TrimSpace(value))
			if strings.TrimSpace(pair) != "" && (!ok || err != nil || key == "" ||
				strings.Trim(key, tokens) != "" || strings.ContainsFunc(value, unicode.IsControl)) {
				return fmt.Errorf("%s: header %d: expected key=value, escaped as in a URL",
					name, i+1)
			}
		}
	}
	return nil
}

// readCertificates reads the CAs for the collector's certificate, and the client's certificate.
func readCertificates(to *tls.Config) error {
	if name, file := first("CERTIFICATE"); file != "" {
		pem, err := statefile.ReadSmall(file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		to.RootCAs = x509.NewCertPool()
		if !to.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s: found no certificate in %s", name, file)
		}
	}
	name, file := first("CLIENT_CERTIFICATE")
	keyName, key := first("CLIENT_KEY")
	if file == "" && key == "" {
		return nil
	}
	if file == "" || key == "" {
		return fmt.Errorf("%s and %s: found one, expected both", name, keyName)
	}
	pair, err := tls.LoadX509KeyPair(file, key)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	to.Certificates = []tls.Certificate{pair}
	return nil
}
