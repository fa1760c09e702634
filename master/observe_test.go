package master

import "testing"

// TestMetricsAreOfTheWorkersHost: Prometheus gets only the host from which a worker registered.
func TestMetricsAreOfTheWorkersHost(t *testing.T) {
	for _, c := range []struct{ peer, said, want string }{
		{"10.0.0.2:5000", "10.0.0.2:7710", "10.0.0.2:7710"},
		{"[fd00::2]:5000", "[fd00::2]:7710", "[fd00::2]:7710"},
		{"127.0.0.1:5000", "127.0.0.1:7710", "127.0.0.1:7710"},
		{"127.0.0.1:5000", "localhost:7710", "127.0.0.1:7710"},
		{"10.0.0.2:5000", "10.0.0.3:7710", ""},
		{"10.0.0.2:5000", "169.254.169.254:80", ""},
		{"127.0.0.1:5000", "10.255.255.254:7710", ""},
		{"10.0.0.2:5000", "localhost:7710", ""},
		{"10.0.0.2:5000", "no.such.host.invalid:7710", ""},
		{"10.0.0.2:5000", "10.0.0.2", ""},
		{"10.0.0.2:5000", "http://10.0.0.3/", ""},
	} {
		if found := scraped(t.Context(), c.peer, c.said); found != c.want {
			t.Errorf("a worker from %s at %s: found %q, expected %q", c.peer, c.said, found, c.want)
		}
	}
}
