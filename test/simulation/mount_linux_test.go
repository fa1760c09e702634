package simulation

import "syscall"

// mountSmall mounts a file system of a few MiB, and returns the function that unmounts it. Not
// every user may mount.
func mountSmall(dir string) (unmount func(), mounted bool) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); err != nil {
		return func() {}, false
	}
	return func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }, true
}
