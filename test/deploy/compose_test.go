package deploy

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

func project(t *testing.T) *types.Project {
	t.Helper()
	dir, err := filepath.Abs(deployed + "/compose")
	must(t, err)
	p, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir,
			"compose.yaml")}}, Environment: types.Mapping{},
	})
	must(t, err)
	return p
}

// TestCompose loads the compose file with its schema, as docker compose does, and checks the
// services in it.
func TestCompose(t *testing.T) {
	p := project(t)
	names := p.ServiceNames()
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "grafana master prometheus worker" {
		t.Fatalf("found %s", got)
	}
	for _, s := range p.Services {
		for _, v := range s.Volumes {
			if v.Type == "bind" && !strings.HasSuffix(v.Source, "/graphs") {
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s: %v", s.Name, err)
				}
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to other hosts", s.Name, port.Published)
			}
		}
	}
	for _, name := range []string{"master", "worker"} {
		s := p.Services[name]
		checkArguments(t, "compose "+name, s.Command)
		if s.Build == nil || s.Build.Dockerfile != "deploy/Containerfile" &&
			!strings.HasSuffix(s.Build.Dockerfile, "/deploy/Containerfile") {
			t.Errorf("%s: is built from %+v", name, s.Build)
		}
		if !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" {
			t.Errorf("%s: may do more than it needs", name)
		}
		given := map[string]bool{}
		for _, secret := range s.Secrets {
			given["/run/secrets/"+secret.Source] = true
		}
		for _, a := range s.Command {
			if _, path, ok := strings.Cut(a, "=/run/secrets/"); ok && !given["/run/secrets/"+path] {
				t.Errorf("%s: there is no secret %s", name, path)
			}
		}
		test := s.HealthCheck.Test
		if len(test) < 4 || test[0] != "CMD" || test[1] != "/superstep" {
			t.Errorf("%s: its health is %v: the image has no shell", name, test)
			continue
		}
		checkArguments(t, "compose "+name+"'s health", test[2:])
		port := test[3][strings.LastIndexByte(test[3], ':'):]
		if !slices.ContainsFunc(s.Command, func(a string) bool { return strings.HasPrefix(a, "--listen=") && strings.HasSuffix(a, port) }) {
			t.Errorf("%s: its health is asked at %s, where it does not listen: %v", name, test[3],
				s.Command)
		}
	}
	if d := p.Services["worker"].StopGracePeriod; d == nil || time.Duration(*d) < 30*time.Second {
		t.Errorf("a worker gets %v to leave", d)
	}
	prometheus := p.Services["prometheus"]
	if s := prometheus.Secrets; len(s) != 1 || s[0].Target != "/etc/prometheus/metrics-token" {
		t.Errorf("Prometheus has its token at %v", s)
	}
}

// TestSecrets creates the secrets that the compose file names.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	script := read(t, deployed+"/compose/secrets.sh")
	must(t, os.WriteFile(filepath.Join(dir, "secrets.sh"), script, 0o700))
	for range 2 { // the second time nothing changes
		if out, err := exec.Command(filepath.Join(dir, "secrets.sh")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	seen := map[string]bool{}
	for name, s := range project(t).Secrets {
		text := string(read(t, filepath.Join(dir, "secrets", filepath.Base(s.File))))
		if len(strings.TrimSpace(text)) != 64 || seen[text] {
			t.Errorf("%s is %q", name, text)
		}
		seen[text] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d secrets", len(seen))
	}
}

// TestLocal runs the services of the compose file as processes of this host. Prometheus scrapes all
// of them.
func TestLocal(t *testing.T) {
	needs(t, "prometheus", "prometheus")
	needs(t, "curl", "curl")
	needs(t, "bash", "bash")
	at := freePort(t)
	c := exec.CommandContext(t.Context(), deployed+"/compose/local.sh", "--check")
	c.Env = append(os.Environ(), "SUPERSTEP="+superstep(t),
		"PROMETHEUS_PORT="+at[strings.LastIndexByte(at, ':')+1:])
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out),
		"\nok: Prometheus sees the job, and that 3 workers did it\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
