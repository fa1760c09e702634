package simulation

import "syscall"

// mountSmall mounts a file system of a few MiB, and says how to give it up; not every user may.
func mountSmall(dir string) (unmount func(), mounted bool) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); err != nil {
		return func() {}, false
	}
	return func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }, true
}
