package s3_test

import (
	"strings"
	"testing"

	_ "github.com/superstep-go/superstep/drivers/s3"
	"github.com/superstep-go/superstep/internal/store"
)

// TestOpenS3: what is wrong with a place or the server's name is said at once.
func TestOpenS3(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	for _, c := range []struct{ place, endpoint, says string }{
		{"s3://", "http://127.0.0.1:1", "ucket"},
		{"s3://A_B", "http://127.0.0.1:1", "ucket"},
		{"s3://bucket/a/../b", "http://127.0.0.1:1", "a/../b"},
		{"s3://bucket", "127.0.0.1:1", "AWS_ENDPOINT_URL"},
		{"s3://bucket", "ftp://127.0.0.1:1", "AWS_ENDPOINT_URL"},
		{"s3://bucket", "http://127.0.0.1:1/path", "AWS_ENDPOINT_URL"},
	} {
		t.Setenv("AWS_ENDPOINT_URL", c.endpoint)
		if _, err := store.Open(c.place); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s at %s: found %v, expected %q", c.place, c.endpoint, err, c.says)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	s, err := store.Open("s3://bucket/pre/fix/")
	if err != nil || s.String() != "s3://bucket/pre/fix" {
		t.Errorf("found %v, %v", s, err)
	}
}
