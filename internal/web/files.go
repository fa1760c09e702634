package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/klauspost/compress/gzhttp"
)

// dist is the page, built from web/ at the module's root (CONTRIBUTING.md).
//
//go:embed dist
var dist embed.FS

// kinds are the types of the files. The system's own table may have others.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// compress compresses the answers of a handler for callers that accept it, from 1 KiB on. The error
// would be of the options.
var compress, _ = gzhttp.NewWrapper(gzhttp.EnableZstd(false))

// embedded returns a file of the page, or nil.
func embedded(name string) []byte {
	data, _ := dist.ReadFile("dist" + name)
	return data
}

// file serves a file of the page.
func file(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if name == "/" {
		name = "/index.html"
	}
	data := embedded(name)
	if data == nil {
		fail(w, &refusal{http.StatusNotFound, "there is no such file; the page is at /"})
		return
	}
	sum, h := sha256.Sum256(data), w.Header()
	h.Set("Content-Type", kinds[path.Ext(name)])
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", fmt.Sprintf(`"%x"`, sum[:8]))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
