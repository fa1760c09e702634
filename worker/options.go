package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/statefile"
	files "github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/pregel"
)

// Options configure a worker.
type Options struct {
	// Master is the address of the master, HOST:PORT. If there are several masters, of which one
	// leads, it is a comma-separated list.
	Master string
	// TokenFile contains the token of the cluster. Without TLS, the default is the token of the
	// same user's master at Master, which must be an address of this machine.
	TokenFile string
	// TLSCert, TLSKey and TLSCA are the files of the process's certificate, its key, and the CA of
	// other processes' certificates: all or none. They are read again when they change. superstep
	// ca makes such files.
	TLSCert, TLSKey, TLSCA string
	// InsecureToken allows sending the token and all data unencrypted to and from other machines.
	InsecureToken bool
	// Programs are this binary's programs beside the built-in ones, as pregel.Register returns
	// them. The master must have the same programs of the same build.
	Programs []pregel.Registered
	// DataRoots are the directories, and s3://BUCKET or s3://BUCKET/PREFIX, that contain all files
	// that jobs may read and graphs that they may save. Relative names are below the first. Without
	// roots, jobs may not name files.
	DataRoots []string
	// Name is the worker's name in the cluster, by default the host's name and the process id. Site
	// is a label for its location, such as a rack.
	Name, Site string
	// Listen is the address for other workers, HOST:PORT. The default is a free port at the local
	// address of the connection to the master.
	Listen string
	// Ready, if not nil, is called with this address when the worker has its first session with the
	// master.
	Ready func(address string)
	// Threads is the number of threads of a job or load. The default is the number of processors.
	Threads int
	// Compress controls the compression of messages to other workers: on, off, or auto, which
	// compresses where that is faster than the link. Default auto.
	Compress string
	// Window bounds the bytes in flight from each other worker, 64 KiB to 1 GiB. The default is 16
	// MiB, or more if the measured product of bandwidth and delay is larger.
	Window int64
	// Hold is how long the worker looks for a master that does not answer, and keeps graphs for it.
	// Default 1 minute.
	Hold time.Duration
	// Grace is how long a leaving worker waits for the master's permission. Default 27 s.
	Grace time.Duration
	// StopTimeout is how long a cancelled command may take to return. After that Run returns an
	// error. Default 10 s.
	StopTimeout time.Duration
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

// leastWindow and mostWindow bound Options.Window.
const (
	leastWindow = 64 << 10
	mostWindow  = 1 << 30
)

// Config is Options and what only superstep's command line and tests need. Other programs do not
// use it. It may change in any version.
type Config struct {
	Options
	daemon.Worker
	roots  *files.Roots               // the validated DataRoots
	master func() *control.Connection // returns nil while there is no connection
}

// Run runs a worker until ctx ends.
func Run(ctx context.Context, o Options) error {
	w, err := New(Config{Options: o})
	if err != nil {
		return err
	}
	at := o.Listen
	if at == "" {
		host, err := control.LocalHost(control.Addresses(o.Master)[0])
		if err != nil {
			return fmt.Errorf("no address of this host reaches the master at %s: %w", o.Master, err)
		}
		at = net.JoinHostPort(host, "0")
	}
	if err := control.CheckListen(at, w.who()); err != nil {
		return err
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	w.Listener, w.Address = l.(*net.TCPListener), l.Addr().String()
	return w.Run(ctx)
}

// who returns the worker's credentials.
func (o *Config) who() control.Credentials {
	return control.Credentials{Token: o.Token, TLS: o.TLS, InsecureToken: o.InsecureToken}
}

// complete checks the options and fills in defaults.
func (o *Config) complete() (err error) {
	if err := o.Complete("worker", o.TokenFile,
		certs.Names{Cert: o.TLSCert, Key: o.TLSKey, CA: o.TLSCA}, o.Programs, o.Log); err != nil {
		return err
	}
	who := o.who()
	if err := who.Complete(control.Addresses(o.Master)[0]); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	o.Token = who.Token
	if o.roots, err = files.NewRoots(o.DataRoots); err != nil {
		return fmt.Errorf("worker: Options.DataRoots: %w", err)
	}
	secrets := append([]string{o.TokenFile, o.TLSKey}, o.Secrets...)
	if o.TLS != nil {
		secrets = append(secrets, o.TLS.Names.Key)
	}
	for _, secret := range secrets {
		if err := o.roots.Hold(secret); err != nil {
			return err
		}
	}
	o.roots.Hide(secrets...)
	if dir, err := statefile.UserDir(); err == nil { // superstep's files of this user
		o.roots.Hide(dir)
		for _, address := range control.Addresses(o.Master) {
			token, _ := control.OwnFile(address)
			o.roots.Hide(token) // the file may have other names
		}
	}
	o.Name = cmp.Or(o.Name, control.ProcessName())
	if !control.ValidName(o.Name) {
		return fmt.Errorf("found the name %.150q, expected %s", o.Name, control.NameRule)
	}
	if min(o.Hold, o.Grace, o.StopTimeout) < 0 || o.Threads < 0 {
		return fmt.Errorf("worker: found a negative number in the options: Hold %v, Grace %v, "+
			"StopTimeout %v, Threads %d", o.Hold, o.Grace, o.StopTimeout, o.Threads)
	}
	if !slices.Contains([]string{"", "auto", "on", "off"}, o.Compress) {
		return fmt.Errorf("worker: Options.Compress: %.40q is not auto, on or off", o.Compress)
	}
	if o.Window != 0 && (o.Window < leastWindow || o.Window > mostWindow) {
		return fmt.Errorf("worker: Options.Window: found %d, expected %d to %d, or 0", o.Window,
			leastWindow, mostWindow)
	}
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	o.Hold = cmp.Or(o.Hold, control.Hold)
	o.Grace = cmp.Or(o.Grace, 27*time.Second)
	o.StopTimeout = cmp.Or(o.StopTimeout, 10*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Address == "" && o.Listener != nil {
		o.Address = o.Listener.Addr().String()
	}
	if o.Ready == nil {
		o.Ready = func(string) {}
	}
	o.Observe = cmp.Or(o.Observe, daemon.Observer(unobserved{}))
	return nil
}
