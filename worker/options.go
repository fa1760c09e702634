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

// Options say who a worker is and whom it works for.
type Options struct {
	// Master is where the master is, HOST:PORT, or where several are, parted by commas, of which
	// one leads.
	Master string
	// TokenFile has the token of the cluster. By default, without TLS, it is that of the user's own
	// master at Master, an address of this machine.
	TokenFile string
	// TLSCert, TLSKey and TLSCA are the files of this process's certificate, its key, and the CA
	// that others' are from; all or none. They are read again when they change. superstep ca makes
	// such files.
	TLSCert, TLSKey, TLSCA string
	// InsecureToken lets the token, and all data, travel in the clear where others can reach what
	// listens.
	InsecureToken bool
	// Programs are those of this binary beside the built-in ones, as pregel.Register returns them.
	// The master has the same, of the same build.
	Programs []pregel.Registered
	// DataRoots are the directories, and s3://BUCKET or s3://BUCKET/PREFIX, below which jobs name
	// files and save graphs; relative names are below the first. None: jobs name no files.
	DataRoots []string
	// Name is what the cluster calls the worker; by default the host's name and the process's
	// number. Site is a label for where it is, such as a rack.
	Name, Site string
	// Listen is where other workers reach this one, HOST:PORT; by default a free port of the
	// address that reaches the master.
	Listen string
	// Ready, if not nil, is called with that address when the worker has its first session with the
	// master.
	Ready func(address string)
	// Threads is how many a job or a load gets, by default one for each processor.
	Threads int
	// Compress says whether messages to other workers are compressed: auto, where that is faster
	// than the link, on or off; default auto.
	Compress string
	// Window is how many bytes may be under way from each other worker, 64 KiB to 1 GiB; by default
	// 16 MiB, and more where bandwidth times delay, as measured, is more.
	Window int64
	// Hold is how long to look for a master that does not answer, and to keep graphs for it;
	// default 1 minute.
	Hold time.Duration
	// Grace is how long to wait for the master's leave to go, default 27 s.
	Grace time.Duration
	// StopTimeout is how long a command may take to return when it was told to stop, default 10 s:
	// then Run returns an error.
	StopTimeout time.Duration
	// Log gets what happens, or is nil.
	Log *slog.Logger
}

// leastWindow and mostWindow bound Options.Window.
const (
	leastWindow = 64 << 10
	mostWindow  = 1 << 30
)

// Config is Options, and what only the command line and the tests of superstep need. No other
// program uses it, and it may change in any version.
type Config struct {
	Options
	daemon.Worker
	roots  *files.Roots               // DataRoots, checked
	master func() *control.Connection // nil while there is none
}

// Run runs a worker until ctx ends, as a worker of a Config does.
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

// who is what the worker shows, and knows others by.
func (o *Config) who() control.Credentials {
	return control.Credentials{Token: o.Token, TLS: o.TLS, InsecureToken: o.InsecureToken}
}

// complete checks what is given, and adds what is not.
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
	if dir, err := statefile.UserDir(); err == nil { // with what superstep made for this user
		token, _ := control.OwnFile(control.Addresses(o.Master)[0]) // it may have other names
		o.roots.Hide(dir, token)
	}
	o.Name = cmp.Or(o.Name, control.ProcessName())
	if !control.ValidName(o.Name) {
		return fmt.Errorf("found the name %.150q, expected %s", o.Name, control.NameRule)
	}
	if min(o.Hold, o.Grace, o.StopTimeout) < 0 || o.Threads < 0 {
		return fmt.Errorf("worker: a number of the options is negative: Hold %v, Grace %v, StopTimeout %v, Threads %d", o.Hold, o.Grace, o.StopTimeout, o.Threads)
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
