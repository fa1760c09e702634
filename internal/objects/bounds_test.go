package objects

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// TestCallersAreBounded: a call reads at most 2 MiB of an object, and lists at most 4,096 objects;
// the next call continues the list. At most 256
// objects of several messages are being received, and any number of small ones.
func TestCallersAreBounded(t *testing.T) {
	s, dir := server(t)
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
	c := serve(t, s)
	begin := func(last bool) error {
		stream, err := c.Workers.PutObject(t.Context())
		if err == nil {
			err = stream.Send(&control.PutObjectRequest{Name: "u", Size: 2, Data: []byte("x")})
		}
		if err != nil || !last {
			return err
		}
		_, err = stream.CloseAndReceive()
		return err
	}
	for i := range 256 {
		if err := begin(false); err != nil {
			t.Fatal(err)
		}
		for s.uploads.Load() <= int64(i) { // until it has arrived
			runtime.Gosched()
		}
	}
	if err := begin(true); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("one more upload: %v", err)
	}
	for _, small := range []*control.PutObjectRequest{
		{Name: "small", Size: 1, Data: []byte("x")},
		{Name: "absent", Size: 1, Data: []byte("x"), Absent: true},
	} {
		stream, err := c.Workers.PutObject(t.Context())
		if err == nil {
			err = stream.Send(small)
		}
		if err == nil {
			_, err = stream.CloseAndReceive()
		}
		if err != nil || s.uploads.Load() != 256 {
			t.Errorf("%s: %v, %d uploads", small.Name, err, s.uploads.Load())
		}
	}
}
