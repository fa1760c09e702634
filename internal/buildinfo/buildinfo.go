// Package buildinfo says what this binary was built from.
package buildinfo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Source names what the binary was built from: its modules' versions when all are released or committed, else the hash of
// the binary itself.
var Source = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		exact := info.Main.Version != "" && info.Main.Version != "(devel)" && !strings.Contains(info.Main.Version, "+dirty")
		var text strings.Builder
		fmt.Fprintln(&text, info.Main.Path, info.Main.Version)
		for _, d := range info.Deps {
			exact = exact && d.Replace == nil
			fmt.Fprintln(&text, d.Path, d.Version)
		}
		if exact {
			return text.String()
		}
	}
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(h.Sum(nil))
})

// Version returns the module's version, the revision it was built from, and what built it for what.
func Version() string {
	return fmt.Sprintf("%s, %s %s/%s", Revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Revision returns the module's version and the revision it was built from.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			v += " " + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			v += " modified"
		}
	}
	return v
}
