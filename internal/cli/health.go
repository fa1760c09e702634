package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
)

// Bounds of a health check.
const (
	healthTimeout = 3 * time.Second
	maxHealth     = 1 << 10
)

// health is `superstep health`, for containers without an HTTP client.
func (a *app) health() *cobra.Command {
	var f struct {
		CA    string `flag:"tls-ca" help:"the {FILE} with the CA of a cluster with TLS"`
		Alive bool   `flag:"alive" help:"ask only whether the process answers"`
	}
	return clientFlagsOf(&cobra.Command{
		Use:   "health [ADDR]",
		Short: "Ask a master or a worker whether it is ready",
		Long: `Ask a master or a worker whether it is ready for work, or with --alive
whether it answers. ADDR is the HOST:PORT of its --listen; the default is the default of a master.
No token is needed. With TLS the CA is needed. Exit status 0: yes; 1: no.`,
		Example: `  superstep health
  superstep health 127.0.0.1:7710 --alive`,
		Args: optional("an address, or nothing for " + defaultMaster),
		RunE: func(cmd *cobra.Command, args []string) error {
			address := defaultMaster
			if len(args) > 0 {
				address = args[0]
			}
			if _, _, err := net.SplitHostPort(address); err != nil {
				return usagef("found the address %q, expected HOST:PORT", address)
			}
			page := map[bool]string{true: "/healthz", false: "/readyz"}[f.Alive]
			text, err := askHealth(cmd.Context(), address, page, f.CA)
			if err != nil {
				return fmt.Errorf("%s: %w", address, err)
			}
			_, err = fmt.Fprintln(a.out, escape.Text(text, escape.Most))
			return err
		},
	}, &f)
}

// unhealthy explains why a health check got no answer.
func unhealthy(err error) error {
	var dial *net.OpError
	var trust *certs.TrustError
	switch {
	case errors.As(err, &trust):
		return fmt.Errorf("the server is not trusted: %w", trust)
	case errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("the server has no TLS: leave --tls-ca out")
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", healthTimeout)
	case errors.Is(err, context.Canceled), errors.As(err, &dial) && dial.Op == "dial":
		return err
	}
	return fmt.Errorf("the server is neither a master nor a worker's --listen: %w", err)
}

// askHealth fetches a page and returns its text. It returns an error if the status is not OK.
func askHealth(ctx context.Context, address, page, ca string) (string, error) {
	who, err := (&accessFlags{CA: ca}).credentials(nil, nil)
	if err != nil {
		return "", err
	}
	// No proxy, because the server is on this host or nearby. The certificate of any master or
	// worker of the cluster will do.
	transport, url := &http.Transport{DisableKeepAlives: true}, "http://"+address+page
	if who.TLS != nil {
		transport.TLSClientConfig, url = who.TLS.Client("", certs.Master|certs.Worker),
			"https://"+address+page
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: transport}
	answer, err := client.Do(r)
	if err != nil {
		var bare interface{ Unwrap() error }
		if errors.As(err, &bare) {
			err = bare.Unwrap() // without the URL
		}
		return "", unhealthy(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHealth))
	if err != nil {
		return "", err
	}
	word := strings.TrimSpace(string(text))
	switch {
	case answer.StatusCode == http.StatusServiceUnavailable:
		return "", fmt.Errorf("not ready: %s", escape.Text(word, 300))
	case word == control.WantsTLS:
		return "", errors.New("the server wants TLS: give --tls-ca")
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("found %s, expected a master or a worker", answer.Status)
	}
	return word, nil
}
