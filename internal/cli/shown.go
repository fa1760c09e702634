package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
)

// sharedFile reports whether w is a file that other users of the machine can read.
func sharedFile(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0
}

var inLink = regexp.MustCompile(`\?token=[0-9a-f]+`)

// shown returns a text with a link to a page. If others can read the output, it replaces the token
// by a hint.
func shown(text string, shared bool, hint string) string {
	if !shared {
		return text
	}
	return inLink.ReplaceAllString(text, " (its token is left out: others can read this file"+hint+
		")")
}

// shownOf is shown for the page of the master at an address.
func (a *app) shownOf(address, text string) string {
	return shown(text, a.shared[0], fmt.Sprintf("; %s status --page --master %s prints it", a.name,
		address))
}
