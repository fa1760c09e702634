package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/master"
)

// masterCommand is `superstep master`.
type masterCommand struct {
	app *app
	masterFlags
}

// masterFlags are the flags of `superstep master`; `superstep up` has some of them.
type masterFlags struct {
	Listen string `flag:"listen" default:"127.0.0.1:7700" help:"the master listens at {ADDR}, HOST:PORT; port 0 is any free port"`
	Data   string `flag:"data" help:"store results, the queue and the catalog in {DIR}; the next master continues with them (default: a directory that is removed when the master ends)"`
	daemonFlags
	AuditLog    string       `flag:"audit-log" group:",more" help:"append a line of JSON to {FILE} for each change by a user and for each refused call"`
	Lease       job.Duration `flag:"lease" default:"2.5s" range:"500ms..1h" help:"a worker that is silent for {TIME} is lost, and its jobs begin again or fail; use a longer time where machines stall"`
	Retries     int          `flag:"retries" group:",more" default:"2" range:"0..100" help:"when a job loses a worker, restart it on the other workers, up to {N} times, from its newest checkpoint or its start; 0 fails the job"`
	Running     int          `flag:"running" default:"1" range:"1..64" help:"run {N} jobs at a time on the same processors and memory; benchmarks run alone"`
	Hold        job.Duration `flag:"hold" group:",more" default:"1m" range:"1ms.." help:"wait {TIME} for a lost worker, or after a restart of the master, before graphs are loaded again"`
	Checkpoints string       `flag:"checkpoints" help:"store checkpoints of jobs at {PLACE}, a directory or s3://BUCKET/PREFIX that the master and all workers reach, and restart jobs from them; off stores none (default: with --data on the master's disk, else off)"`
	whenFlags
	Standby         bool         `flag:"standby" help:"share the queue and the catalog at the PLACE of --checkpoints with other masters: one leads, the others stand by; then --data stores results only"`
	Stragglers      string       `flag:"stragglers" words:"move,off" help:"when a worker is slow: move restarts a job with checkpoints on the other workers if that is expected to save time; off leaves it"`
	KeepResults     job.Duration `flag:"keep-results" default:"168h" range:"1s.." help:"keep results for {TIME}, including results of earlier masters in --data"`
	KeepResultBytes job.Size     `flag:"keep-result-bytes" default:"10GB" help:"keep at most {SIZE} of results: remove the oldest ones, but never the last"`
	Quota           []string     `flag:"quota" help:"limit each owner of jobs, or one OWNER, by a {QUOTA}: [OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE, or some of these; may be repeated (default: no limits)"`
}

// options returns the master's options, except those from files.
func (f *masterFlags) options(log *slog.Logger) (master.Options, error) {
	quotas, err := quotasOf(f.Quota)
	if err != nil {
		return master.Options{}, err
	}
	if f.Standby && f.Checkpoints == "" {
		return master.Options{},
			usagef("--standby needs --checkpoints, a place that all masters reach")
	}
	o := master.Options{
		Listen: f.Listen, Lease: time.Duration(f.Lease), Hold: time.Duration(f.Hold),
		Retries: f.Retries, Running: f.Running, Data: f.Data, Checkpoints: f.Checkpoints,
		CheckpointEvery: f.Every.steps, CheckpointInterval: f.Every.time,
		MTBF: time.Duration(f.MTBF), CheckpointStrict: f.Strict, Stragglers: f.Stragglers,
		Standby: f.Standby, InsecureToken: f.InsecureToken, AuditLog: f.AuditLog,
		KeepResults: time.Duration(f.KeepResults), KeepResultBytes: int64(f.KeepResultBytes),
		Quotas: quotas, Log: log,
	}
	o.Retries = cmp.Or(o.Retries, -1) // see master.Options
	return o, nil
}

func (a *app) master() *cobra.Command {
	m := &masterCommand{app: a}
	cmd := &cobra.Command{
		Use:   "master",
		Short: "Lead a cluster",
		Long: `Lead a cluster: register workers, run jobs on them, and answer clients, all
on one port.

Without --token-file and --tls-cert it serves this user on this machine: it makes a token, which
workers and clients of the user find. The link that it prints opens a page that shows the cluster
and its jobs, with an HTTP API. /debug/status has the same in a few lines. /metrics is for
Prometheus, and /metrics/targets lists the workers' metrics addresses. All of them want the token;
/healthz and /readyz, for process supervisors, do not. An interrupt stops the master.`,
		Example: `  superstep master
  superstep master --listen 10.0.0.1:7700 --tls-cert master.pem --tls-key master-key.pem --tls-ca ca.pem --gossip-listen off
  superstep master --checkpoints /shared/checkpoints --stragglers off
  superstep master --quota queued=20,time=2h --quota alice:queued=100,result-bytes=50GB
  openssl rand -hex 32 > token
  superstep master --listen 10.0.0.1:7700 --token-file token --insecure-token --gossip-listen 10.0.0.1:7701 --gossip-key-file key`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.execute(cmd.Context()) },
	}
	flagsOf(cmd, &m.masterFlags)
	configFlag(cmd)
	return cmd
}

func (m *masterCommand) execute(ctx context.Context) error {
	who, metricsToken, err := m.begin(m.app)
	if err != nil {
		return err
	}
	m.endWithInput(m.app)
	options, err := m.options(m.app.logger())
	if err != nil {
		return err
	}
	if err := control.CheckListen(m.Listen, who); err != nil {
		return usagef("--listen: %w", err)
	}
	if m.Standby && !who.Token.Given() && who.TLS == nil {
		return usagef("--standby needs --token-file or TLS: all masters have the same")
	}
	l, err := net.Listen("tcp", m.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer l.Close()
	address := l.Addr().String()
	if err := who.Complete(address); err != nil {
		return err
	}
	options.Ready = func(address string) {
		page := web.Link(web.URL(m.Listen, l.Addr(), who.TLS != nil), who.Token)
		fmt.Fprintf(m.app.out, "master at %s; the page is at %s\n", address,
			m.app.shownOf(address, page))
	}
	if m.EndWithInput {
		options.Listen = address // keeps the token for the next master; superstep up removes it
	}
	o := master.Config{Options: options, Master: daemon.Master{
		Process:      daemon.Process{Token: who.Token, TLS: who.TLS, Registry: m.app.programs},
		MetricsToken: metricsToken, Listener: l,
	}}
	self := membership.Member{Name: address, Role: membership.Master, Control: address}
	if l.Addr().(*net.TCPAddr).IP.IsUnspecified() {
		self.Control = "" // not an address that others can connect to
	}
	group, err := m.gossip(self, who.Token, address)
	if err != nil {
		return err
	}
	if group != nil {
		defer group.Close()
		o.Group, o.GossipAddress = group, group.Address()
	}
	if o.Spans, err = m.app.spans(ctx, "superstep-master", ""); err != nil {
		return err
	}
	return o.Run(ctx)
}
