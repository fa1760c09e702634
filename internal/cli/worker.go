package cli

import (
	"cmp"
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
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/worker"
)

// workerCommand is `superstep worker`.
type workerCommand struct {
	app *app
	workerFlags
}

// workerFlags are the flags of `superstep worker`; `superstep up` has some of them.
type workerFlags struct {
	masterFlag
	daemonFlags
	DataRoot   []string `flag:"data-root" help:"jobs may name files and save graphs only below {PLACE}, a directory, s3://BUCKET or s3://BUCKET/PREFIX; may be repeated (default: nowhere)"`
	Name       string   `flag:"name" help:"the {NAME} of the worker (default: host and process id)"`
	Site       string   `flag:"site" help:"a {LABEL} for the place of the worker, such as a rack"`
	Listen     string   `flag:"listen" help:"serve metrics and health at {ADDR}, HOST:PORT; off disables it (default: a free port of the address that reaches the master)"`
	DataListen string   `flag:"data-listen" help:"listen for other workers at {ADDR}, HOST:PORT; port 0 is any free port (default: a free port of the address that reaches the master)"`
	Advertise  string   `flag:"advertise" help:"the {HOST} at which others reach this worker (default: the host of --data-listen, and of --listen)"`
	threadsFlag
	Compress string   `flag:"compress" words:"auto,on,off" help:"compress messages to other workers: auto if compressing is faster than the measured link, on always, off never"`
	Window   job.Size `flag:"window" range:"64KiB..1GiB" help:"allow {SIZE} of messages in flight from each other worker, such as 64MiB (default: 16MiB, or the measured bandwidth times delay if that is more, up to 256MiB)"`
	memoryFlags
	Hold        job.Duration `flag:"hold" default:"1m" range:"1ms.." help:"keep graphs for {TIME} while the master does not answer; then end with status 1"`
	StopTimeout job.Duration `flag:"stop-timeout" default:"10s" range:"1ms.." help:"end with status 1, to be restarted, if a cancelled command does not stop within {TIME}, such as a Compute that never returns"`
}

func (a *app) worker() *cobra.Command {
	w := &workerCommand{app: a}
	cmd := &cobra.Command{
		Use:   "worker --master ADDR",
		Short: "Take part in a cluster as a worker",
		Long: `Work for the cluster of a master. If the master does not answer, the worker
tries for --hold and keeps its partitions of graphs. It ends with status 1 if the master refuses
it. An interrupt drains the worker: running jobs may end. A child process reports to the master if
the worker dies.

Workers send each other messages by TCP. Each listens at --data-listen. --listen serves /metrics
for Prometheus, and /healthz and /readyz for process supervisors. By default both are free ports of
the address from which the worker reaches the master.`,
		Example: `  superstep worker --master 127.0.0.1:7700
  superstep worker --master 10.0.0.1:7700 --name w3 --site rack2 --tls-cert w.pem --tls-key w-key.pem --tls-ca ca.pem --gossip-listen 10.0.0.3:7701 --gossip-key-file key`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return w.execute(cmd.Context()) },
	}
	w.threadsFlag = allThreads()
	clientFlagsOf(cmd, &w.workerFlags)
	configFlag(cmd)
	return cmd
}

func (w *workerCommand) execute(ctx context.Context) error {
	who, metricsToken, err := w.begin(w.app)
	if err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	end, err := w.bound(w.app)
	if err != nil {
		return err
	}
	defer end()
	// One more than the threads, so that the network does not wait for threads that walk edges.
	// With still more, threads would keep waking each other.
	runtime.GOMAXPROCS(w.Threads + 1)
	w.Name = cmp.Or(w.Name, control.ProcessName())
	w.app.interrupts.patient.Store(true) // running jobs may end
	w.endWithInput(w.app)
	listener, address, err := w.open("--data-listen", w.DataListen, who)
	if err != nil {
		return err
	}
	defer listener.Close()
	first := control.Addresses(w.Master)[0]
	if err := who.Complete(first); err != nil {
		return err
	}
	log := w.app.logger()
	set := metrics.New(buildinfo.Revision())
	monitor, err := startMonitor(w.Name, who)
	if err != nil {
		log.Warn("nobody will tell the master how this process died", "error", err)
	}
	defer monitor.end()
	w.app.monitor.Store(monitor)
	observer := &watched{Worker: set.NewWorker(), monitor: monitor}
	pages := ""
	if w.Listen != "off" {
		var l *net.TCPListener
		if l, pages, err = w.open("--listen", w.Listen, who); err != nil {
			return err
		}
		defer observer.pages(l, set, log, &control.Gate{Credentials: who, Metrics: metricsToken})()
	}
	o := worker.Config{Options: worker.Options{
		Name: w.Name, Site: w.Site, Master: w.Master, Threads: w.Threads,
		Hold: time.Duration(w.Hold), StopTimeout: time.Duration(w.StopTimeout),
		Compress: w.Compress, Window: int64(w.Window), Log: log, InsecureToken: w.InsecureToken,
		DataRoots: w.DataRoot, TokenFile: w.TokenFile,
	}, Worker: daemon.Worker{
		Process:  daemon.Process{Token: who.Token, TLS: who.TLS, Registry: w.app.programs},
		Listener: listener, Address: address, HTTPAddress: pages, Observe: observer,
		Secrets: []string{w.MetricsTokenFile, w.GossipKeyFile},
	}}
	self := membership.Member{Name: w.Name, Role: membership.Worker}
	group, err := w.gossip(self, who.Token, first)
	if err != nil {
		return err
	}
	if group != nil {
		defer group.Close()
		o.Group = group
	}
	if len(w.DataRoot) == 0 {
		log.Info("jobs name no files here: --data-root PLACE lets them read below PLACE")
	}
	working, err := worker.New(o)
	if err != nil {
		return err
	}
	set.NewMesh(working.Stats)
	return working.Run(ctx)
}

// check validates the flags before any connection is made.
func (w *workerCommand) check() error {
	for flag, name := range map[string]string{"name": w.Name, "site": w.Site} {
		if name != "" && !control.ValidName(name) {
			return usagef("--%s: found %.150q, expected %s", flag, name, control.NameRule)
		}
	}
	if w.Advertise != "" && !isHost(w.Advertise) {
		return usagef("--advertise: found %.150q, expected a host without a port", w.Advertise)
	}
	if _, err := store.NewRoots(w.DataRoot); err != nil {
		return usagef("--data-root: %w", err)
	}
	if w.Master == inProcess {
		return usagef("%w", errNoCluster)
	}
	return nil
}

// isHost reports whether a text is an IP address or a possible host name.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	label := regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	labels := strings.Split(strings.TrimSuffix(text, "."), ".")
	last := labels[len(labels)-1]
	// A numeric last label means a malformed address.
	return len(text) <= 253 && strings.Trim(last, "0123456789") != "" &&
		!slices.ContainsFunc(labels, func(l string) bool { return !label.MatchString(l) })
}

// open listens at the address of a flag, or by default at the local address of the connection to
// the master. It returns the address for others to connect to.
func (w *workerCommand) open(
	flag, at string, who control.Credentials,
) (*net.TCPListener, string, error) {
	if at == "" {
		host, err := control.LocalHost(control.Addresses(w.Master)[0])
		if err != nil {
			return nil, "",
				usagef("%s is needed: no address of this host reaches the master at %s: %w", flag,
					w.Master, err)
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
	case w.Advertise != "":
		host = w.Advertise
	case tcp.Addr().(*net.TCPAddr).IP.IsUnspecified():
		if host, err = control.LocalHost(control.Addresses(w.Master)[0]); err != nil {
			return nil, "", errors.Join(usagef("--advertise is needed: %w", err), l.Close())
		}
	}
	return tcp, net.JoinHostPort(host, port), nil
}
