package s3_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	_ "github.com/superstep-go/superstep/drivers/s3"
	"github.com/superstep-go/superstep/internal/store"
)

// TestOpenS3: an invalid place or server name is reported at once.
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

// TestListThatBreaksOff: the second page of a list fails. The list continues after the first page.
func TestListThatBreaksOff(t *testing.T) {
	breaks := 2
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after := cmp.Or(r.FormValue("continuation-token"), r.FormValue("start-after"))
		if after != "" && breaks > 0 {
			breaks--
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "<ListBucketResult>")
			return
		}
		text, n, last := "", 0, ""
		for key := byte('a'); key <= 'h'; key++ {
			if name := string(key); name > after && n < 3 {
				text += "<Contents><Key>" + name + "</Key><Size>1</Size></Contents>"
				n, last = n+1, name
			}
		}
		fmt.Fprintf(w,
			"<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>%s</NextContinuationToken>%s</ListBucketResult>",
			last < "h", last, text)
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
		"AWS_ENDPOINT_URL": server.URL,
	} {
		t.Setenv(name, value)
	}
	s, err := store.Open("s3://bucket")
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for o, err := range s.List(t.Context(), "") {
		if found += o.Name; err != nil || len(found) > 100 {
			t.Fatalf("after %q: %v", found, err)
		}
	}
	if found != "abcdefgh" || breaks != 0 {
		t.Errorf("found %q, %d times it has not broken off, expected each name once", found, breaks)
	}
}
