package control

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// TestBounded: texts of at most 4 KB are accepted. Descriptions of jobs have other limits.
func TestBounded(t *testing.T) {
	name := strings.Repeat("n", 4<<10)
	for _, c := range []struct {
		m    proto.Message
		want string
	}{
		{&CancelJobRequest{Id: name, Reason: name}, ""},
		{&CancelJobRequest{Reason: name + "n"}, "found 4097 bytes in .reason, expected at most 4096"},
		{&SubmitJobRequest{SpecJson: name + name}, ""},
		{&SubmitJobRequest{SpecJson: strings.Repeat(name,
			33)}, "found a description of 135168 bytes, expected at most 131072"},
		{&RegisterRequest{Version: name + "n"}, "found 4097 bytes in .version, expected at most 4096"},
		{&RegisterRequest{Programs: []*Program{{Name: name + "n"}}}, "found 4097 bytes in .programs[0].name, expected at most 4096"},
	} {
		err := Bounded(c.m)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("found %v, expected %q", err, c.want)
		}
	}
}

// TestCompressedRequestsAreRefused: a small compressed body that would expand to a large one is not
// decompressed.
func TestCompressedRequestsAreRefused(t *testing.T) {
	path, h := NewClusterHandler(UnimplementedClusterHandler{}, HandlerOptions()...)
	mux := http.NewServeMux()
	mux.Handle(path, h)
	s := httptest.NewServer(mux)
	defer s.Close()
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	for range 64 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path+"CancelJob",
		&small)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/proto")
	r.Header.Set("Content-Encoding", "gzip")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text := new(bytes.Buffer)
	if _, err := text.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), `unknown compression`) {
		t.Errorf("found %s, %s", answer.Status, text)
	}
}

// TestDoor: a call with a too long text does not reach its handler.
func TestDoor(t *testing.T) {
	path, h := NewClusterHandler(UnimplementedClusterHandler{}, HandlerOptions()...)
	mux := http.NewServeMux()
	mux.Handle(path, h)
	s := httptest.NewServer(mux)
	defer s.Close()
	for method, field := range map[string]string{"CancelJob": "reason", "GetJob": "id", "InspectGraph": "name"} {
		body := `{"` + field + `":"` + strings.Repeat("x", 4<<10+1) + `"}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path+method,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text := new(bytes.Buffer)
		if _, err := text.ReadFrom(answer.Body); err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if !strings.Contains(text.String(), "found 4097 bytes in ."+field+
			", expected at most 4096") {
			t.Errorf("%s: found %s, %s", method, answer.Status, text)
		}
	}
}
