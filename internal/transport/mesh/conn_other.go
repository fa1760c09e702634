//go:build !linux

package mesh

import (
	"errors"
	"net"
)

func kernelRate(net.Conn) func() (uint64, float64) { return nil }

const canScatter = false

func scatter(uintptr, []byte, []byte) (int, error) { return 0, errors.ErrUnsupported }
