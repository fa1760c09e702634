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
		Long: `Lead a cluster: keep the workers that register, run jobs on them, and answer superstep run --master, graph500 --master,
graphs, status, jobs, watch, logs, result and cancel, all on one port. At http://ADDR/ is a page that shows the cluster and its
jobs, with an HTTP API; curl http://ADDR/debug/status shows the same in a few lines. Prometheus finds metrics at /metrics, and where the workers have theirs
at /metrics/targets; /healthz and /readyz are for what starts processes. An interrupt stops it.`,
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
	cmd.Flags().StringVar(&m.listen, "listen", defaultMaster, "answer at `ADDR`, HOST:PORT; port 0 is any")
	cmd.Flags().StringVar(&m.data, "data", "", "keep results, the queue and the catalog in `DIR`, from which the next master goes on (default: a directory that goes with the master)")
	cmd.Flags().StringVar(&m.tokenFile, "token-file", "", "the `FILE` with the token that all must know")
	m.tls.define(cmd, false)
	insecureFlag(cmd.Flags(), &m.insecureToken)
	cmd.Flags().StringVar(&m.audit, "audit-log", "", "add a line of JSON to `FILE` for each change that someone makes, and for who is refused")
	cmd.Flags().DurationVar(&m.lease, "lease", control.Lease, "a worker that says nothing for `TIME` is lost, and its jobs begin again or fail; longer where machines stall")
	cmd.Flags().DurationVar(&m.command, "command-timeout", 0, "fail a job or a load when one command of it, such as to load, to do a superstep or to send the result, takes longer than `TIME` (default: no limit)")
	cmd.Flags().IntVar(&m.retries, "retries", master.Retries, "begin the job of an algorithm again, from its newest checkpoint or the start, on the workers that are left, up to `N` times when it loses a worker; 0: it fails")
	m.running.define(cmd)
	holdFlag(cmd, &m.hold, "graphs wait for `TIME` for a worker that is lost, and after a restart of the master; then they are loaded again")
	cmd.Flags().StringVar(&m.checkpoints.place, "checkpoints", "", "jobs keep checkpoints at `PLACE`, a directory or s3://BUCKET/PREFIX that the master and all workers reach, and begin again from them; off is nowhere (default: with --data on the master's disk, else off)")
	m.checkpoints.defineWhen(cmd)
	cmd.Flags().BoolVar(&m.standby, "standby", false, "have the queue and the catalog at --checkpoints, for all masters with the same PLACE: one leads, the others stand by until it ends; --data has results alone then")
	m.stragglers = wordFlag(cmd, "stragglers", "what becomes of jobs that keep checkpoints when a worker is slow: move lets them go on without it where that is expected to pay; off leaves them", string(master.MoveStragglers), string(master.LeaveStragglers))
	m.keep.define(cmd)
	m.quotas.define(cmd)
	m.metrics.define(cmd)
	m.gossip.define(cmd)
	m.withInput.define(cmd)
	configFlag(cmd)
	nothing(cmd, "listen", "lease", "command-timeout", "retries")
	return cmd
}

func (m *masterCommand) execute(ctx context.Context) error {
	m.app.interrupts.hearHangUp()
	m.app.writeAsync()
	m.withInput.begin(m.app)
	token, err := readToken("--token-file", m.tokenFile)
	if err != nil {
		return err
	}
	metricsToken, err := readToken("--metrics-token-file", m.metrics.tokenFile)
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
	if m.standby && m.checkpoints.place == "" {
		return usagef("--standby needs --checkpoints, a place that all masters reach")
	}
	if err := m.gossip.check(); err != nil {
		return err
	}
	files, err := m.tls.load(m.app.logger())
	if err != nil {
		return err
	}
	if err := control.CheckListen(m.listen, control.Credentials{Token: token, TLS: files, InsecureToken: m.insecureToken}); err != nil {
		return usagef("--listen: %w", err)
	}
	l, err := net.Listen("tcp", m.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer l.Close()
	address := l.Addr().String()
	o := master.Config{Options: master.Options{
		Lease: m.lease, Hold: m.hold, CommandTimeout: m.command, Retries: m.retries, Running: int(m.running), Data: m.data,
		Checkpoints: m.checkpoints.place, CheckpointEvery: m.checkpoints.policy.Every, CheckpointInterval: m.checkpoints.policy.Interval,
		Stragglers: master.Stragglers(m.stragglers.value), Standby: m.standby, MTBF: m.checkpoints.policy.MTBF, CheckpointStrict: m.checkpoints.policy.Strict,
		InsecureToken: m.insecureToken, AuditLog: m.audit, KeepResults: m.keep.age, KeepResultBytes: keepBytes, Quotas: m.quotas.all, Log: m.app.logger(),
		Ready: func(address string) {
			fmt.Fprintf(m.app.out, "master at %s; the page is at %s\n", address, web.URL(m.listen, l.Addr(), files != nil))
		},
	}, Token: token, TLS: files, MetricsToken: metricsToken, Registry: m.app.programs, Listener: l}
	self := membership.Member{Name: address, Role: membership.Master, Control: address}
	if l.Addr().(*net.TCPAddr).IP.IsUnspecified() {
		self.Control = "" // it is no address that others could go to
	}
	group, err := m.gossip.group(self)
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
	cmd.Flags().IntVar((*int)(r), "running", 1, "run `N` jobs at a time, which share processors and memory; benchmarks run alone")
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
	cmd.Flags().DurationVar(&f.age, "keep-results", master.KeepResults, "keep results for `TIME`, of earlier masters in --data too")
	cmd.Flags().StringVar(&f.size, "keep-result-bytes", "10GB", "keep results of at most `SIZE` together: the oldest go, but the last")
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
