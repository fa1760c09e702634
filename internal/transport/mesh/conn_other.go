//go:build !linux

package mesh

import (
	"errors"
	"net"
	"time"
)

func kernelRate(net.Conn) func() (uint64, float64) { return nil }

func ownUser(*net.UnixConn) bool { return false }

const canScatter = false

const shortBytes = 0

func writeShort(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func scatter(uintptr, []byte, []byte) (int, error) { return 0, errors.ErrUnsupported }

func kernelRoundTrip(net.Conn) time.Duration { return 0 }
