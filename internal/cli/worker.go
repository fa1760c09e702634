package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/worker"
)

// workerCommand is `superstep worker`.
type workerCommand struct {
	app        *app
	client     clientFlags
	name, site string
	data       string
	listen     string
	advertise  string
	threads    int
	compress   *oneOf
	window     windowFlag
	memory     memoryFlags
	stop, hold time.Duration
	metrics    metricsFlags
	gossip     gossipFlags
	withInput  inputEnd

	insecureToken bool
	roots         []string
}

func (a *app) worker() *cobra.Command {
	w := &workerCommand{app: a}
	cmd := &cobra.Command{
		Use:   "worker --master ADDR",
		Short: "Take part in a cluster as a worker",
		Long: `Work for the cluster of a master. If the master does not answer, the worker
tries for --hold and keeps its partitions of graphs. It ends with status 1 if the master refuses
it. An interrupt drains the worker: running jobs may end. A child process reports to the master how
the worker died.

Workers send each other messages by TCP. Each listens at --data-listen. --listen serves /metrics
for Prometheus, and /healthz and /readyz for process supervisors. By default both are free ports of
the address from which the worker reaches the master.`,
		Example: `  superstep worker --master 127.0.0.1:7700
  superstep worker --master 10.0.0.1:7700 --name w3 --site rack2 --tls-cert w.pem --tls-key w-key.pem --tls-ca ca.pem --gossip-listen 10.0.0.3:7701 --gossip-key-file key`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return w.execute(cmd.Context()) },
	}
	cmd.Flags().SortFlags = false
	w.client.define(cmd)
	insecureFlag(cmd.Flags(), &w.insecureToken)
	cmd.Flags().StringArrayVar(&w.roots, "data-root", nil, "jobs may name files and save graphs only below `PLACE`, a directory, s3://BUCKET or s3://BUCKET/PREFIX; may be repeated (default: nowhere)")
	cmd.Flags().StringVar(&w.name, "name", "", "the `NAME` of the worker (default: host name and process id)")
	cmd.Flags().StringVar(&w.site, "site", "", "a `LABEL` for the place of the worker, such as a rack")
	cmd.Flags().StringVar(&w.listen, "listen", "", "serve metrics and health at `ADDR`, HOST:PORT; off disables it (default: a free port of the address that reaches the master)")
	cmd.Flags().StringVar(&w.data, "data-listen", "", "listen for other workers at `ADDR`, HOST:PORT; port 0 is any free port (default: a free port of the address that reaches the master)")
	cmd.Flags().StringVar(&w.advertise, "advertise", "", "the `HOST` at which others reach this worker (default: the host of --data-listen, and of --listen)")
	threadsFlag(cmd, &w.threads)
	w.compress = wordFlag(cmd, "compress", "compress messages to other workers: auto if compressing is faster than the measured link, on always, off never", "auto", "on", "off")
	w.window.define(cmd)
	w.memory.define(cmd)
	holdFlag(cmd, &w.hold, "keep graphs for `TIME` while the master does not answer; then end with status 1")
	cmd.Flags().DurationVar(&w.stop, "stop-timeout", 10*time.Second, "end with status 1, to be restarted, if a cancelled command does not stop within `TIME`, such as a Compute that never returns")
	w.metrics.define(cmd)
	w.gossip.define(cmd)
	w.withInput.define(cmd)
	configFlag(cmd)
	nothing(cmd, "name", "site", "listen", "data-listen", "advertise", "window")
	return cmd
}

func (w *workerCommand) execute(ctx context.Context) error {
	w.app.interrupts.hearHangUp()
	w.app.writeAsync()
	token, err := readToken("--token-file", w.client.tokenFile, w.app.warn)
	if err != nil {
		return err
	}
	files, err := w.client.tls.load(w.app.logger())
	if err != nil {
		return err
	}
	who := control.Credentials{Token: token, TLS: files, InsecureToken: w.insecureToken}
	if w.threads < 1 || w.threads > maxThreads {
		return usagef("--threads: found %d, expected 1 to %d", w.threads, maxThreads)
	}
	if err := w.check(); err != nil {
		return err
	}
	window, err := w.window.bytes()
	if err != nil {
		return err
	}
	end, err := w.memory.begin(w.app)
	if err != nil {
		return err
	}
	defer end()
	// One more than threads: what comes and goes must not wait for a thread that walks edges. More would wake each other up.
	runtime.GOMAXPROCS(w.threads + 1)
	if w.name == "" {
		w.name = control.ProcessName()
	}
	metricsToken, err := readToken("--metrics-token-file", w.metrics.tokenFile, w.app.warn)
	if err != nil {
		return err
	}
	ctx, leave := w.app.leaving(ctx)
	w.withInput.begin(w.app)
	defer leave()
	listener, address, err := w.open("--data-listen", w.data, who)
	if err != nil {
		return err
	}
	defer listener.Close()
	first := control.Addresses(w.client.master)[0]
	if err := who.Complete(first); err != nil {
		return err
	}
	log := w.app.logger()
	set := metrics.New(buildinfo.Revision())
	monitor, err := startMonitor(w.name, who)
	if err != nil {
		log.Warn("nobody will tell the master how this process died", "error", err)
	}
	defer monitor.end()
	w.app.monitor.Store(monitor)
	observer := &watched{Worker: set.NewWorker(), monitor: monitor}
	pages := ""
	if w.listen != "off" {
		var l *net.TCPListener
		if l, pages, err = w.open("--listen", w.listen, who); err != nil {
			return err
		}
		defer observer.pages(l, set, log, &control.Gate{Credentials: who, Metrics: metricsToken})()
	}
	o := worker.Config{
		Options: worker.Options{
			Name: w.name, Site: w.site, Master: w.client.master, Threads: w.threads, Hold: w.hold, StopTimeout: w.stop, Compress: w.compress.value,
			Window: window, Log: log, InsecureToken: w.insecureToken, DataRoots: w.roots,
			TokenFile: w.client.tokenFile,
		},
		Token: who.Token, TLS: files, Registry: w.app.programs, Listener: listener, Address: address, HTTPAddress: pages, Observe: observer,
		Secrets: []string{w.metrics.tokenFile, w.gossip.key},
	}
	self := membership.Member{Name: w.name, Role: membership.Worker}
	group, err := w.gossip.group(self, who.Token, first)
	if err != nil {
		return err
	}
	if group != nil {
		defer group.Close()
		o.Group = group
	}
	if len(w.roots) == 0 {
		log.Info("jobs name no files here: --data-root PLACE lets them read below PLACE")
	}
	working, err := worker.New(o)
	if err != nil {
		return err
	}
	set.NewMesh(working.Stats)
	return working.Run(ctx)
}

// check refuses what cannot be, before anyone is asked.
func (w *workerCommand) check() error {
	if w.name != "" && !control.ValidName(w.name) {
		return usagef("--name: found %.150q, expected %s", w.name, control.NameRule)
	}
	if w.site != "" && !control.ValidName(w.site) {
		return usagef("--site: found %.150q, expected %s", w.site, control.NameRule)
	}
	if w.advertise != "" && !isHost(w.advertise) {
		return usagef("--advertise: found %.150q, expected a host's name or address, without a port", w.advertise)
	}
	if w.client.master == inProcess {
		return usagef("%w", errNoCluster)
	}
	if w.stop <= 0 {
		return usagef("--stop-timeout: found %v, expected more than 0", w.stop)
	}
	if err := checkHold(w.hold); err != nil {
		return err
	}
	return w.gossip.check()
}

// isHost reports whether a text is an IP address or can be a host's name.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	label := regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	labels := strings.Split(strings.TrimSuffix(text, "."), ".")
	last := labels[len(labels)-1]
	return len(text) <= 253 && strings.Trim(last, "0123456789") != "" && // else a wrong address
		!slices.ContainsFunc(labels, func(l string) bool { return !label.MatchString(l) })
}

// leaving returns a context that the first interrupt ends, which lets a worker leave, however long that takes; the second
// ends the process. Call the function at the end.
func (a *app) leaving(ctx context.Context) (context.Context, func()) {
	ctx, leave := context.WithCancel(ctx)
	signals, giveBack := a.interrupts.take()
	done := make(chan struct{})
	go func() {
		for heard := 0; ; heard++ {
			select {
			case <-signals:
				if heard > 0 {
					a.interrupts.leave()
				}
				leave()
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		giveBack()
		close(done)
		leave()
	}
}

// open begins to listen at what a flag says, or beside the master, and returns the address that others reach it by.
func (w *workerCommand) open(flag, at string, who control.Credentials) (*net.TCPListener, string, error) {
	if at == "" {
		host, err := control.LocalHost(control.Addresses(w.client.master)[0])
		if err != nil {
			return nil, "", usagef("%s is needed: no address of this host reaches the master at %s: %w", flag, w.client.master, err)
		}
		at = net.JoinHostPort(host, "0")
	}
	if err := control.CheckListen(at, who); err != nil {
		return nil, "", usagef("%s: %w", flag, err)
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", flag, err)
	}
	tcp := l.(*net.TCPListener)
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	switch {
	case w.advertise != "":
		host = w.advertise
	case tcp.Addr().(*net.TCPAddr).IP.IsUnspecified():
		if host, err = control.LocalHost(control.Addresses(w.client.master)[0]); err != nil {
			return nil, "", errors.Join(usagef("--advertise is needed: %w", err), l.Close())
		}
	}
	return tcp, net.JoinHostPort(host, port), nil
}
