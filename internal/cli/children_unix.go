//go:build unix

package cli

import "syscall"

// ownGroup keeps a terminal's Ctrl-C from a child: its parent hears it, and ends the child.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
