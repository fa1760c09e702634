package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// dist is the page, built from web/ at the module's root (CONTRIBUTING.md).
//
//go:embed dist
var dist embed.FS

// file is a file of the page.
type file struct {
	plain, packed []byte
	kind, tag     string
}

var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// files reads and compresses the page once.
var files = sync.OnceValue(func() map[string]*file {
	all := map[string]*file{}
	_ = fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		plain, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		_, _ = z.Write(plain)
		_ = z.Close()
		sum := sha256.Sum256(plain)
		all["/"+name[len("dist/"):]] = &file{plain, packed.Bytes(), kinds[path.Ext(name)], `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
	return all
})

// file serves a file of the page.
func (s *Site) file(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if name == "/" {
		name = "/index.html"
	}
	f := files()[name]
	if f == nil {
		fail(w, &refusal{http.StatusNotFound, "there is no such file; the page is at /"})
		return
	}
	h, data := w.Header(), f.plain
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		data = f.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}
