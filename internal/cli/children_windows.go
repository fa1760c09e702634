package cli

import "syscall"

// ownGroup keeps a console's Ctrl-C from a child: its parent hears it, and ends the child.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
