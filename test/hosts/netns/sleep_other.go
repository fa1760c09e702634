//go:build !linux

package netns

import "time"

// Until waits until a time.
func Until(due time.Time) { <-time.After(time.Until(due)) }
