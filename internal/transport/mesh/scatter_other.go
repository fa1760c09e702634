//go:build !linux

package mesh

import "errors"

const canScatter = false

func scatter(uintptr, []byte, []byte) (int, error) { return 0, errors.ErrUnsupported }
