package cli_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
)

// TestSlowClientsOfTLS: clients on several hosts, without a token or certificate, stop in the
// middle of a handshake or a request's header. They neither block the page for others nor use much
// of the master's memory.
func TestSlowClientsOfTLS(t *testing.T) {
	const slow, hosts, mostMemory = 1000, 10, 50 << 10 // KiB
	dir := t.TempDir()
	_, err := certs.Init(dir, 2)
	must(t, err)
	p, err := certs.Issue(dir, dir,
		certs.Request{Name: "m", Roles: certs.Master, Hosts: []string{"127.0.0.1"}, Days: 1})
	must(t, err)
	token, _ := secrets(t)
	ca := filepath.Join(dir, "ca.pem")
	m, at := startMaster(t, "--token-file", token, "--tls-cert", p.Cert, "--tls-key", p.Key,
		"--tls-ca", ca)
	files, err := certs.Load(certs.Names{CA: ca}, nil)
	must(t, err)
	ask := func() time.Duration {
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: files.Client("127.0.0.1", certs.Master), DisableKeepAlives: true}}
		began := time.Now()
		r, err := http.NewRequest(http.MethodGet, "https://"+at+"/api/v1/jobs", nil)
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+clusterToken)
		answer, err := client.Do(r)
		must(t, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("status %d", answer.StatusCode)
		}
		return time.Since(began)
	}
	ask()
	before := residentKiB(t, m.Process.Pid)
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for i := range slow {
		from := &net.Dialer{Timeout: time.Minute, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0,
			byte(2+i%hosts))}}
		c, err := from.Dial("tcp", at)
		must(t, err)
		all = append(all, c)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		switch i % 4 {
		case 0: // sends nothing
		case 1:
			// begins a handshake; this fails if the server has closed the connection
			_, _ = c.Write([]byte{22, 3, 1, 2, 0, 1, 0})
		default: // finishes the handshake and begins a request
			secure := tls.Client(c,
				&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
			if secure.Handshake() == nil {
				_, _ = secure.Write([]byte("GET / HT"))
			}
		}
	}
	var longest time.Duration
	for range 5 {
		longest = max(longest, ask())
	}
	grown := residentKiB(t, m.Process.Pid) - before
	t.Logf("%d slow clients: the page took %v at most, the master grew by %d KiB", slow, longest,
		grown)
	if grown > mostMemory {
		t.Errorf("the master grew by %d KiB", grown)
	}
	if longest > 20*time.Second { // the machine may be slow
		t.Errorf("the page took %v", longest)
	}
	key, err := os.ReadFile(p.Key)
	must(t, err)
	if line := strings.Split(string(key), "\n")[1]; strings.Contains(m.stderr.String(), line) ||
		strings.Contains(m.stderr.String(), clusterToken) {
		t.Error("a secret is in the log")
	}
}

// residentKiB returns the resident memory of a process.
func residentKiB(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	n := 0
	_, err = fmt.Sscan(rest, &n)
	must(t, err)
	return n
}
