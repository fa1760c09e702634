// Package statetest gives the tests of a package that imports it a state directory of their own,
// beside their binary, which go test removes: none of them reads or writes that of the user.
package statetest

import (
	"os"
	"path/filepath"
	"strings"
)

func init() {
	binary, err := os.Executable()
	test := strings.HasSuffix(strings.TrimSuffix(binary, ".exe"), ".test")
	if err == nil && test { // else the binary is a command of a script
		err = os.Setenv("XDG_STATE_HOME", filepath.Join(filepath.Dir(binary), "state"))
	}
	if err != nil {
		panic(err)
	}
}
