package cli

import "syscall"

// ownGroup protects a child from a console's Ctrl-C. The parent handles it and ends the child.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
