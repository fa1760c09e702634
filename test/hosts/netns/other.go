//go:build !linux

package netns

import (
	"context"
	"errors"
	"io"
	"os/exec"
)

var errLinux = errors.New("network namespaces are Linux's")

// Hub exists only on Linux.
type Hub struct{}

// NewHub fails.
func NewHub(Cable) (*Hub, error) { return nil, errLinux }

// Address returns "".
func (*Hub) Address() string { return "" }

// End returns nil.
func (*Hub) End(int) *End { return nil }

// Plug fails.
func (*Hub) Plug(int, int) error { return errLinux }

// Carried fails.
func (*Hub) Carried(int) ([]Traffic, error) { return nil, errLinux }

// Close does nothing.
func (*Hub) Close() {}

// Up fails.
func (*End) Up(io.Reader) error { return errLinux }

// Apart does nothing.
func Apart(*exec.Cmd) {}

// Inside returns false.
func Inside() bool { return false }

// Enter fails.
func Enter(context.Context) (int, error) { return 0, errLinux }

// Refused returns an error.
func Refused(context.Context, ...string) error { return errLinux }

// Try fails.
func Try(Cable) error { return errLinux }
