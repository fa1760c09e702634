package objects

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// TestCallersAreBounded: a call reads at most 2 MiB of an object, and lists at most 4,096 objects;
// the next call continues the list. At most 256 uploads are open.
func TestCallersAreBounded(t *testing.T) {
	s, dir := server(t)
	defer s.Close()
	for length, want := range map[uint32]connect.Code{2<<20 + 1: connect.CodeInvalidArgument, 2 << 20: connect.CodeNotFound} {
		_, err := s.GetObject(t.Context(),
			&control.GetObjectRequest{Name: "none", Length: length})
		if connect.CodeOf(err) != want {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	for i := range 4100 {
		if err := os.WriteFile(filepath.Join(dir.String(), fmt.Sprintf("o%04d", i)), nil,
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	after, pages, listed := "", []int(nil), 0
	for more := true; more && len(pages) < 3; {
		r, err := s.ListObjects(t.Context(),
			&control.ListObjectsRequest{After: after})
		if err != nil {
			t.Fatal(err)
		}
		n := len(r.Objects)
		pages, listed, more = append(pages, n), listed+n, r.More
		if n > 0 {
			after = r.Objects[n-1].Name
		}
	}
	if len(pages) != 2 || pages[0] != 4096 || listed != 4100 {
		t.Errorf("found pages of %v objects", pages)
	}
	for i := range 257 {
		_, err := s.PutObject(t.Context(),
			&control.PutObjectRequest{Name: "u", Size: 2, Data: []byte("x"), Upload: fmt.Sprint(i)})
		if (connect.CodeOf(err) == connect.CodeUnavailable) != (i == 256) {
			t.Errorf("upload %d: %v", i, err)
		}
	}
}
