// Package buildinfo identifies the source code of this binary.
package buildinfo

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Source identifies the source code of the binary: the versions of its modules if all are released
// or committed, else the id that the go command gave the binary (a hash of its contents), else the
// hash of the binary.
var Source = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		exact := info.Main.Version != "" && info.Main.Version != "(devel)" &&
			!strings.Contains(info.Main.Version, "+dirty")
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
	head := make([]byte, 32<<10)
	n, _ := io.ReadFull(f, head) // a shorter file has no id, and is hashed
	if id := buildID(head[:n]); id != "" {
		return id
	}
	h := sha256.New()
	h.Write(head[:n])
	if _, err := io.Copy(h, f); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(h.Sum(nil))
})

// buildID returns the build id from the first bytes of a binary of the go command, or "" if there
// is none. It is in an ELF note (header: length of the name, length of the data, type) or, on other
// systems, in a line before the instructions.
func buildID(head []byte) string {
	if i := bytes.Index(head, []byte("\x04\x00\x00\x00Go\x00\x00")); i >= 8 {
		size := int64(binary.LittleEndian.Uint32(head[i-4:]))
		if id := head[i+8:]; size <= int64(len(id)) {
			return string(id[:size])
		}
	}
	_, id, _ := bytes.Cut(head, []byte("\xff Go build ID: \""))
	id, _, _ = bytes.Cut(id, []byte("\"\n"))
	return string(id)
}

// Version returns the module's version, its revision, the Go version and the platform.
func Version() string {
	return fmt.Sprintf("%s, %s %s/%s", Revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Revision returns the module's version and the revision it was built from.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := cmp.Or(info.Main.Version, "(devel)")
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
