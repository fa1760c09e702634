//go:build unix

package cli

import "syscall"

// ownGroup protects a child from a terminal's Ctrl-C. The parent handles it and ends the child.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
