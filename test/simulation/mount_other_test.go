//go:build !linux

package simulation

// mountSmall mounts nothing.
func mountSmall(string) (unmount func(), mounted bool) { return func() {}, false }
