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
)

// Bounds of asking for health.
const (
	healthTimeout = 3 * time.Second
	maxHealth     = 1 << 10
)

// health is `superstep health`, for containers that have nothing else to ask with.
func (a *app) health() *cobra.Command {
	var alive bool
	cmd := &cobra.Command{
		Use:   "health [ADDR]",
		Short: "Ask a master or a worker whether it is ready",
		Long: `Ask the master, or the worker, that answers at ADDR (HOST:PORT, its --listen; by default the usual master's) whether it is
ready for work, or with --alive whether it answers at all. No token is needed. Exit status 0: yes; 1: no.`,
		Example: `  superstep health
  superstep health 127.0.0.1:7710 --alive`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("found %d arguments, expected one address at most", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			address := defaultMaster
			if len(args) > 0 {
				address = args[0]
			}
			if _, _, err := net.SplitHostPort(address); err != nil {
				return usagef("found the address %q, expected HOST:PORT", address)
			}
			page := "/readyz"
			if alive {
				page = "/healthz"
			}
			text, err := askHealth(cmd.Context(), "http://"+address+page)
			if err != nil {
				return fmt.Errorf("%s: %w", address, err)
			}
			_, err = fmt.Fprintln(a.out, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&alive, "alive", false, "ask only whether it answers")
	return cmd
}

// unhealthy words why there was no answer.
func unhealthy(err error) error {
	var dial *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", healthTimeout)
	case errors.Is(err, context.Canceled), errors.As(err, &dial) && dial.Op == "dial":
		return err
	}
	return fmt.Errorf("what answers is neither a master nor a worker's --listen: %w", err)
}

// askHealth returns what a page says, or that it says no.
func askHealth(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this host, or near
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
		return "", fmt.Errorf("not ready: %.80q", word)
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("found %s, expected a master or a worker", answer.Status)
	}
	return word, nil
}
