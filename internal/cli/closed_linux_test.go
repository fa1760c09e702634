package cli_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/test/scripts"
)

// TestAnotherUserGetsNothing: a cluster started without a flag for secrets serves only its user.
// Another user can reach all ports and may use another state directory, but gets no data.
func TestAnotherUserGetsNothing(t *testing.T) {
	t.Run("up", func(t *testing.T) {
		p, address, _ := scripts.StartUp(t, "superstep", "--data-root", t.TempDir())
		closed(t, address)
		link := regexp.MustCompile(`(?m)^master at ` + address + `; the page is at http://` +
			address + `/\?token=([0-9a-f]{64});`).FindStringSubmatch(p.Said.String())
		if len(link) == 0 || strings.Count(p.Said.String(), link[1]) != 1 {
			t.Errorf("its output is %s", p.Said)
		}
		// The system chose the port. The token for its address is removed when the master ends.
		must(t, p.Process.Signal(os.Interrupt))
		<-p.Ended
		_, port, _ := strings.Cut(address, ":")
		left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"),
			"superstep/tokens/localhost-"+port+"*"))
		if err != nil || len(left) != 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
	})
	t.Run("master and worker", func(t *testing.T) {
		gossip := listening(t, "")
		at := gossip[strings.LastIndex(gossip, ":"):]
		c := scripts.NewCluster(t, "superstep", 1, "--gossip-listen", "127.0.0.2"+at)
		closed(t, c.Address)
		token, err := control.NewToken(ownToken(t, c.Address), "test")
		must(t, err)
		right, err := token.GossipKey()
		must(t, err)
		wrong, err := control.RandomToken().GossipKey()
		must(t, err)
		for n, key := range [][]byte{wrong, right} {
			g, err := membership.Gossip(membership.Config{Self: membership.Member{Name: "x"}, Listen: "127.0.0.1:0", Key: key})
			must(t, err)
			if g.Join("127.0.0.2" + at); len(g.Members()) != 1+n {
				t.Errorf("key %d gossips with %v", n, g.Members())
			}
			must(t, g.Close())
		}
		for name, p := range c.Running {
			if text := p.Said.String(); name != "master" &&
				regexp.MustCompile("[0-9a-f]{64}").MatchString(text) {
				t.Errorf("the output of %s is %s", name, text)
			}
		}
	})
}

// ownToken returns the token of this user's master at an address.
func ownToken(t *testing.T, address string) string {
	t.Helper()
	_, port, _ := strings.Cut(address, ":")
	own, err := os.ReadFile(filepath.Join(os.Getenv("XDG_STATE_HOME"),
		"superstep/tokens/localhost-"+port))
	must(t, err)
	return strings.TrimSpace(string(own))
}

// closed tries all ports of a cluster.
func closed(t *testing.T, address string) {
	t.Helper()
	var status struct {
		Workers []struct{ Name, Incarnation, Data_address, Http_address string }
	}
	out, err := exec.Command("superstep", "status", "--json", "--master", address).Output()
	must(t, err)
	if err := json.Unmarshal(out, &status); err != nil || len(status.Workers) == 0 ||
		status.Workers[0].Http_address == "" {
		t.Fatalf("%s: %v", out, err)
	}
	worker, token := status.Workers[0], ownToken(t, address)

	for _, command := range [][]string{{"jobs"}, {"run", "wcc", "-g", "path:vertices=3"}, {"graphs", "list"}, {"result", "x"}} {
		c := exec.Command("superstep", append(command, "--master", address)...)
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
		if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() != 1 ||
			!strings.Contains(string(out), "a token is missing or wrong") {
			t.Errorf("%v: %s, %v", command, out, err)
		}
	}
	for _, k := range []struct {
		at, path, host, token string
		want                  int
	}{
		{address, "/api/v1/jobs", "", "", 401},
		{address, "/?token=" + strings.Repeat("0", 64), "", "", 401},
		{address, "/metrics", "", "", 401},
		{address, "/metrics/targets", "", "", 401},
		{address, "/debug/status", "", "", 401},
		{address, "/debug/status", "", token, 200},
		{address, "/debug/status", "evil.example", token, 403},
		{worker.Http_address, "/metrics", "", "", 401},
		{worker.Http_address, "/metrics", "", token, 200},
		{worker.Http_address, "/metrics", "evil.example:80", token, 403},
		{worker.Http_address, "/metrics", "localhost", token, 200},
		{worker.Http_address, "/healthz", "evil.example", "", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+k.at+k.path,
			nil)
		must(t, err)
		if r.Host = k.host; k.token != "" {
			r.Header.Set("Authorization", "Bearer "+k.token)
		}
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != k.want {
			t.Errorf("%+v: status %d", k, answer.StatusCode)
		}
	}

	stranger := control.RandomToken()
	for what, who := range map[string]control.Token{"no token": {}, "another token": stranger} {
		state := os.Getenv("XDG_STATE_HOME")
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		c, err := control.Connect(address, control.Credentials{Token: who}, nil)
		must(t, err)
		defer c.Close()
		refused := func(call string, err error) {
			t.Helper()
			if connect.CodeOf(err) != connect.CodeUnauthenticated {
				t.Errorf("%s: %s: %v", what, call, err)
			}
		}
		_, err = c.Workers.Register(t.Context(),
			&control.RegisterRequest{Name: "x"})
		refused("register", err)
		_, err = c.Workers.GetObject(t.Context(),
			&control.GetObjectRequest{Name: "x"})
		refused("read an object", err)
		stream, err := c.Workers.PutObject(t.Context())
		must(t, err)
		_ = stream.Send(&control.PutObjectRequest{Name: "x"}) // the answer has the error
		_, err = stream.CloseAndReceive()
		refused("write an object", err)
		_, err = c.Session(t.Context())
		refused("begin a session", err)
		t.Setenv("XDG_STATE_HOME", state)
	}
	m, err := mesh.New(
		mesh.Options{Name: "x", Incarnation: 1, Token: stranger.Secret(), Hello: 30 * time.Second})
	must(t, err)
	defer m.Close()
	err = m.Connect(t.Context(),
		[]mesh.Peer{{Name: worker.Name, Addr: worker.Data_address, Incarnation: incarnation(t,
			worker.Incarnation)}})
	if !errors.Is(err, mesh.ErrToken) ||
		!strings.Contains(err.Error(), "refused by worker "+worker.Name+": wrong cluster token") {
		t.Errorf("connecting to a worker: %v", err)
	}
}

func incarnation(t *testing.T, text string) (n uint64) {
	t.Helper()
	must(t, json.Unmarshal([]byte(text), &n))
	return n
}
