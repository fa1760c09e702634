// Package statetest gives the tests of a package that imports it a state directory of their own, beside
// their binary, which go test removes: none of them reads or writes that of the user.
package statetest

import (
	"os"
	"path/filepath"
	"strings"
)

func init() {
	binary, err := os.Executable()
	if err == nil && strings.HasSuffix(strings.TrimSuffix(binary, ".exe"), ".test") { // not the same binary as a command of a script
		err = os.Setenv("XDG_STATE_HOME", filepath.Join(filepath.Dir(binary), "state"))
	}
	if err != nil {
		panic(err)
	}
}
