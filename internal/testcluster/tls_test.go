package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/pregel"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/master"
)

// authority is a CA in a directory.
type authority struct {
	t   testing.TB
	dir string
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	dir := t.TempDir()
	if _, err := certs.Init(dir, 10); err != nil {
		t.Fatal(err)
	}
	return authority{t, dir}
}

// issue issues a certificate, and returns the names of its files and the CA's.
func (a authority) issue(name string, roles certs.Role, days int) certs.Names {
	a.t.Helper()
	p, err := certs.Issue(a.dir, a.dir,
		certs.Request{Name: name, Roles: roles, Hosts: []string{"127.0.0.1"}, Days: days})
	if err != nil {
		a.t.Fatal(err)
	}
	return certs.Names{Cert: p.Cert, Key: p.Key, CA: filepath.Join(a.dir, "ca.pem")}
}

func (a authority) load(n certs.Names) *certs.Files {
	a.t.Helper()
	f, err := certs.Load(n, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return f
}

// everything is the roles of all processes of a small cluster.
const everything = certs.Master | certs.Worker | certs.Client

// TestWorkersNeedCertificates: a process cannot join without a worker's certificate from the CA,
// whatever else it has.
func TestWorkersNeedCertificates(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	token, err := control.NewToken("0123456789abcdef", "test")
	if err != nil {
		t.Fatal(err)
	}
	c := Start(t, 1, master.Config{Master: daemon.Master{Process: daemon.Process{TLS: ours.load(ours.issue("all", everything, 5)), Token: token}}},
		programs()...)
	foreign := others.issue("w", certs.Worker, 5)
	foreign.CA = filepath.Join(ours.dir, "ca.pem")
	for _, k := range []struct {
		name  string
		files *certs.Files
		token control.Token
		want  string
	}{
		{"the token alone", ours.load(certs.Names{CA: foreign.CA}), token, "a worker needs a certificate with the role worker"},
		{"a client", ours.load(ours.issue("c", certs.Client,
			5)), token, "the certificate of c has the role client: expected worker"},
		{"a reader", ours.load(ours.issue("r", certs.Reader,
			5)), control.Token{}, "the certificate of r has the role reader: expected worker"},
		{"an expired one", ours.load(ours.issue("x", certs.Worker,
			-1)), control.Token{}, "the certificate of x has expired"},
		{"another CA's", ours.load(foreign), control.Token{}, "the certificate of w is of another CA"},
	} {
		c.Worker.TLS, c.Worker.Token = k.files, k.token
		p := c.StartWorker("stranger")
		if err := p.Wait(t); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v, expected %q", k.name, err, k.want)
		}
		delete(c.workers, "stranger")
		if n := len(c.Workers()); n != 1 {
			t.Fatalf("%s: there are %d workers", k.name, n)
		}
	}
	j, _ := c.watch(t, c.submitSpec(t, short()).Id, nil)
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Error(j.Reason)
	}
}

// TestCertificatesChangeUnderARunningJob replaces certificates and the CA while a job runs. The job
// ends successfully. Workers of the new CA can join, those of the old one cannot. Nothing is
// restarted.
func TestCertificatesChangeUnderARunningJob(t *testing.T) {
	first, next := newAuthority(t), newAuthority(t)
	files := first.issue("all", everything, 5)
	const value = 1 << 40
	p := gated{first: 1, gates: map[uint64]*gate{value: newGate()}}
	c := Start(t, 2,
		master.Config{Master: daemon.Master{Process: daemon.Process{TLS: first.load(files)}}},
		engine.Register("gated", pregel.Erase(p)))
	running := c.submitSpec(t, p.spec(0, value, ""))
	p.gates[value].await(t)

	replace := func(to string, from ...string) {
		t.Helper()
		var all []byte
		for _, name := range from {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data...)
		}
		if err := os.WriteFile(to+".new", all, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(to+".new", to); err != nil {
			t.Fatal(err)
		}
	}
	fresh := next.issue("all", everything, 5)
	old := first.issue("old", certs.Worker|certs.Client, 5)
	oldCA := filepath.Join(first.dir, "old-ca.pem")
	replace(oldCA, files.CA)
	replace(files.CA, fresh.CA, oldCA) // first all processes trust both
	replace(files.Cert, fresh.Cert)
	replace(files.Key, fresh.Key)
	asks := func(n certs.Names) error {
		n.CA = files.CA
		conn, err := control.Connect(c.Address, control.Credentials{TLS: first.load(n)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = conn.Cluster.Status(t.Context(), &control.StatusRequest{})
		return err
	}
	c.Until("the master shows its new certificate", func() bool {
		conn, err := control.Connect(c.Address, control.Credentials{TLS: next.load(fresh)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = conn.Cluster.Status(t.Context(), &control.StatusRequest{})
		return err == nil
	})
	if err := asks(old); err != nil {
		t.Errorf("a certificate of the old CA, while both are trusted: %v", err)
	}
	replace(files.CA, fresh.CA) // then the old one is removed
	c.Until("the old CA is trusted no more", func() bool { return asks(old) != nil })
	c.StartWorker("w2")
	c.Await(3)

	close(p.gates[value].open)
	if j, _ := c.watch(t, running.Id, nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Fatalf("the job that ran meanwhile: %s: %s", j.State.Word(), j.Reason)
	}
	values := c.result(t, running.Id)
	for v := range uint64(gatedVertices) {
		if values[v] != fmt.Sprint(value+v) {
			t.Fatalf("vertex %d has %s", v, values[v])
		}
	}
	// on three workers, with new connections
	j, _ := c.watch(t, c.submitSpec(t, p.spec(0, 1, "")).Id, nil)
	if j.State != control.JobState_JOB_STATE_DONE || len(j.Workers) != 3 {
		t.Errorf("the next job: %s: %s, on %d workers", j.State.Word(), j.Reason, len(j.Workers))
	}
}
