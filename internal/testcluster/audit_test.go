package testcluster

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// TestAuditLog: changes are recorded with their caller and outcome, including refused ones.
func TestAuditLog(t *testing.T) {
	ours := newAuthority(t)
	file := filepath.Join(t.TempDir(), "audit")
	c := Start(t, 1,
		master.Config{Options: master.Options{AuditLog: file}, Master: daemon.Master{
			Process: daemon.Process{TLS: ours.load(ours.issue("all",
				everything, 5))},
		}}, programs()...)
	as := func(name string, role certs.Role) control.ClusterClient {
		conn, err := control.Connect(c.Address,
			control.Credentials{TLS: ours.load(ours.issue(name, role, 5))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn.Cluster
	}
	alice, eve := as("alice", certs.Client), as("eve", certs.Reader)
	j, err := alice.SubmitJob(t.Context(),
		&control.SubmitJobRequest{SpecJson: job.Text(short())})
	if err != nil {
		t.Fatal(err)
	}
	id := j.Id
	_, _ = alice.SubmitJob(t.Context(),
		&control.SubmitJobRequest{SpecJson: job.Text(&job.Spec{Program: "none\nof them"})})
	_, _ = alice.CancelJob(t.Context(), &control.CancelJobRequest{Id: id})
	_, _ = alice.LoadGraph(t.Context(),
		&control.LoadGraphRequest{Name: "g", SourceJson: job.Text(&job.Source{Input: "path:vertices=\x1b"})})
	_, _ = alice.SaveGraph(t.Context(),
		&control.SaveGraphRequest{Name: "g", Place: "/else\nwhere"})
	_, _ = alice.DropGraph(t.Context(),
		&control.DropGraphRequest{Name: "nowhere"})
	if _, err := eve.DropGraph(t.Context(),
		&control.DropGraphRequest{Name: "web"}); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Error(err)
	}
	if _, err := eve.Status(t.Context(), &control.StatusRequest{}); err != nil {
		t.Error(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("found mode %v, %v", info.Mode(), err)
	}
	var found []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e struct{ Time, Who, Roles, From, What, Job, Graph, Source, Place, Program, Worker, Outcome string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Time == "" ||
			!strings.HasPrefix(e.From, "127.0.0.1:") {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		outcome, _, _ := strings.Cut(e.Outcome, ":")
		found = append(found, strings.Join([]string{e.Who, e.Roles, e.What, strings.Replace(e.Job,
			id, "J", 1) + e.Graph + e.Source + e.Place + e.Worker, outcome}, "|"))
	}
	want := []string{
		"all|worker,client,master|register|w0|done", "alice|client|submit|Jpath|done",
		"alice|client|submit|", "alice|client|cancel|J|done",
		`alice|client|load|gpath:vertices=\x1b|`, `alice|client|save|g/else\nwhere|`,
		"alice|client|drop|nowhere|", "||refused||the certificate of eve has the role reader",
	}
	for i, w := range want {
		if i >= len(found) || !strings.HasPrefix(strings.Replace(found[i], ":vertices=100", "", 1),
			w) {
			t.Fatalf("found\n%s\nexpected\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
		}
	}
	if len(found) != len(want) {
		t.Errorf("found\n%s", strings.Join(found, "\n"))
	}
}
