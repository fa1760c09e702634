package cli

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/master"
)

// masterCommand is `superstep master`.
type masterCommand struct {
	app                     *app
	listen, data, tokenFile string
	tls                     tlsFlags
	insecureToken           bool
	lease, hold, command    time.Duration
	retries                 int
	running                 runningFlag
	audit                   string
	keep                    keepFlags
	quotas                  quotasFlag
	checkpoints             checkpointFlags
	standby                 bool
	stragglers              *oneOf
	metrics                 metricsFlags
	gossip                  gossipFlags
	withInput               inputEnd
}

// The least and the longest lease: workers beat several times in one, and a loss is to be noticed the same day.
const (
	minLease = 500 * time.Millisecond
	maxLease = time.Hour
)

// maxRetries bounds --retries.
const maxRetries = 100

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
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&m.listen, "listen", defaultMaster, "listen at `ADDR`, HOST:PORT; port 0 is any free port")
	cmd.Flags().StringVar(&m.data, "data", "", "store results, the queue and the catalog in `DIR`; the next master continues with them (default: a directory that is removed when the master ends)")
	cmd.Flags().StringVar(&m.tokenFile, "token-file", "", "the `FILE` with the token that workers and clients must have "+
		"(default, without TLS: one of this user, for ADDR)")
	m.tls.define(cmd, false)
	insecureFlag(cmd.Flags(), &m.insecureToken)
	cmd.Flags().StringVar(&m.audit, "audit-log", "", "append a line of JSON to `FILE` for each change by a user and for each refused call")
	cmd.Flags().DurationVar(&m.lease, "lease", control.Lease, "a worker that is silent for `TIME` is lost, and its jobs begin again or fail; use a longer time where machines stall")
	cmd.Flags().DurationVar(&m.command, "command-timeout", 0, "fail a job when one step of it, such as a load, a superstep or the sending of the result, takes longer than `TIME` (default: no limit)")
	cmd.Flags().IntVar(&m.retries, "retries", master.Retries, "when a job loses a worker, restart it on the other workers, up to `N` times, from its newest checkpoint or its start; 0 fails the job")
	m.running.define(cmd)
	holdFlag(cmd, &m.hold, "wait `TIME` for a lost worker, or after a restart of the master, before graphs are loaded again")
	cmd.Flags().StringVar(&m.checkpoints.Place, "checkpoints", "", "store checkpoints of jobs at `PLACE`, a directory or s3://BUCKET/PREFIX that the master and all workers reach, and restart jobs from them; off stores none (default: with --data on the master's disk, else off)")
	flagsOf(cmd, &m.checkpoints.whenFlags)
	cmd.Flags().BoolVar(&m.standby, "standby", false, "share the queue and the catalog at the PLACE of --checkpoints with other masters: one leads, the others stand by; then --data stores results only")
	m.stragglers = wordFlag(cmd, "stragglers", "when a worker is slow: move restarts a job with checkpoints on the other workers if that is expected to save time; off leaves it", "move", "off")
	m.keep.define(cmd)
	m.quotas.define(cmd)
	m.metrics.define(cmd)
	m.gossip.define(cmd)
	m.withInput.define(cmd)
	configFlag(cmd)
	nothing(cmd, "listen", "lease", "command-timeout", "retries")
	rare(cmd, "audit-log", "command-timeout", "hold", "retries")
	return cmd
}

func (m *masterCommand) execute(ctx context.Context) error {
	m.app.interrupts.hearHangUp()
	m.app.writeAsync()
	m.withInput.begin(m.app)
	token, err := readToken("--token-file", m.tokenFile, m.app.warn)
	if err != nil {
		return err
	}
	metricsToken, err := readToken("--metrics-token-file", m.metrics.tokenFile, m.app.warn)
	if err != nil {
		return err
	}
	if m.lease < minLease || m.lease > maxLease {
		return usagef("--lease: found %v, expected %v to %v", m.lease, minLease, maxLease)
	}
	if err := limit("--command-timeout", m.command); err != nil {
		return err
	}
	if m.retries < 0 || m.retries > maxRetries {
		return usagef("--retries: found %d, expected 0 to %d", m.retries, maxRetries)
	}
	if err := m.running.check(); err != nil {
		return err
	}
	if m.retries == 0 {
		m.retries = -1 // as master.Options has it
	}
	if err := checkHold(m.hold); err != nil {
		return err
	}
	keepBytes, err := m.keep.check()
	if err != nil {
		return err
	}
	if err := m.checkpoints.check(); err != nil {
		return err
	}
	if m.standby && m.checkpoints.Place == "" {
		return usagef("--standby needs --checkpoints, a place that all masters reach")
	}
	if err := m.gossip.check(); err != nil {
		return err
	}
	files, err := m.tls.load(m.app.logger())
	if err != nil {
		return err
	}
	who := control.Credentials{Token: token, TLS: files, InsecureToken: m.insecureToken}
	if err := control.CheckListen(m.listen, who); err != nil {
		return usagef("--listen: %w", err)
	}
	if m.standby && !token.Given() && files == nil {
		return usagef("--standby needs --token-file or TLS: all masters have the same")
	}
	l, err := net.Listen("tcp", m.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer l.Close()
	address := l.Addr().String()
	if err := who.Complete(address); err != nil {
		return err
	}
	o := master.Config{Options: master.Options{
		Listen: m.listen, Lease: m.lease, Hold: m.hold, CommandTimeout: m.command, Retries: m.retries, Running: int(m.running), Data: m.data,
		Checkpoints: m.checkpoints.Place, CheckpointEvery: m.checkpoints.policy.Every, CheckpointInterval: m.checkpoints.policy.Interval,
		Stragglers: m.stragglers.value, Standby: m.standby, MTBF: m.checkpoints.policy.MTBF, CheckpointStrict: m.checkpoints.policy.Strict,
		InsecureToken: m.insecureToken, AuditLog: m.audit, KeepResults: m.keep.age, KeepResultBytes: keepBytes, Quotas: m.quotas.all, Log: m.app.logger(),
		Ready: func(address string) {
			page := web.Link(web.URL(m.listen, l.Addr(), files != nil), who.Token)
			fmt.Fprintf(m.app.out, "master at %s; the page is at %s\n", address, shown(page, m.app.shared[0]))
		},
	}, Token: who.Token, TLS: files, MetricsToken: metricsToken, Registry: m.app.programs, Listener: l}
	self := membership.Member{Name: address, Role: membership.Master, Control: address}
	if l.Addr().(*net.TCPAddr).IP.IsUnspecified() {
		self.Control = "" // it is no address that others could go to
	}
	group, err := m.gossip.group(self, who.Token, address)
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

// runningFlag is how many jobs a master runs at a time.
type runningFlag int

const maxRunning = 64

func (r *runningFlag) define(cmd *cobra.Command) {
	cmd.Flags().IntVar((*int)(r), "running", 1, "run `N` jobs at a time on the same processors and memory; benchmarks run alone")
	nothing(cmd, "running")
}

func (r *runningFlag) check() error {
	if *r < 1 || *r > maxRunning {
		return usagef("--running: found %d, expected 1 to %d", *r, maxRunning)
	}
	return nil
}

// holdFlag is how long graphs are kept by workers without a master, and wait at a master without their workers.
func holdFlag(cmd *cobra.Command, hold *time.Duration, text string) {
	cmd.Flags().DurationVar(hold, "hold", control.Hold, text)
	nothing(cmd, "hold")
}

func checkHold(hold time.Duration) error {
	if hold <= 0 {
		return usagef("--hold: found %v, expected more than 0", hold)
	}
	return nil
}

// keepFlags say which results a master keeps.
type keepFlags struct {
	age  time.Duration
	size string
}

func (f *keepFlags) define(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.age, "keep-results", master.KeepResults, "keep results for `TIME`, including results of earlier masters in --data")
	cmd.Flags().StringVar(&f.size, "keep-result-bytes", "10GB", "keep at most `SIZE` of results: remove the oldest ones, but never the last")
	nothing(cmd, "keep-results", "keep-result-bytes")
}

// check returns how many bytes are kept.
func (f *keepFlags) check() (int64, error) {
	if f.age <= 0 {
		return 0, usagef("--keep-results: found %v, expected a time, such as 24h", f.age)
	}
	n, err := parseBytes(f.size)
	if err != nil {
		return 0, usagef("--keep-result-bytes: %w", err)
	}
	return n, nil
}
