package master

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/objects"
	"github.com/superstep-go/superstep/internal/standby"
	"github.com/superstep-go/superstep/pregel"
)

// Options configure a master. The zero value is for a cluster on one machine.
type Options struct {
	// Listen is the address of the master, HOST:PORT; port 0 is any. Default 127.0.0.1:7700.
	Listen string
	// Ready, if not nil, is called with the address of the master when it accepts calls.
	Ready func(address string)
	// TokenFile contains the token that workers and clients must present. Without TLS, the default
	// is a token for Listen in the user's state directory, where workers and clients of the same
	// user find it; Listen must then be an address of this machine. If other machines can reach the
	// master, it needs TLS or InsecureToken. MetricsTokenFile contains a token that gives access to
	// /metrics only.
	TokenFile, MetricsTokenFile string
	// TLSCert, TLSKey and TLSCA are the files of the process's certificate, its key, and the CA of
	// other processes' certificates: all or none. They are read again when they change. superstep
	// ca makes such files.
	TLSCert, TLSKey, TLSCA string
	// InsecureToken allows sending the token and all data unencrypted to and from other machines.
	InsecureToken bool
	// Programs are this binary's programs beside the built-in ones, as pregel.Register returns
	// them. Workers must have the same programs of the same build.
	Programs []pregel.Registered
	// AuditLog is the file to which each change by a caller, and each refusal, is appended; none by
	// default.
	AuditLog string
	// Data is the directory that stores results, and the queue, the list of jobs and the catalog
	// for the next master with the same directory. By default results are in a temporary directory,
	// and the rest is not stored.
	Data string
	// KeepResults and KeepResultBytes bound how long results are stored, and their total size. The
	// oldest are removed first, including those of earlier masters in Data. Defaults: a week, 10
	// GB.
	KeepResults     time.Duration
	KeepResultBytes int64
	// Quotas bound the use by each owner, by the owner's name. The entry "" applies to all other
	// owners. Default: no bounds.
	Quotas map[string]Quota
	// Lease is how long a worker may be silent before it is lost. Default 2.5 s, so that a loss is
	// detected within 3 s.
	Lease time.Duration
	// Hold is how long the master waits for a lost worker, or after its own restart for the workers
	// it had, before it gives up their partitions of graphs. Default 1 minute.
	Hold time.Duration
	// Grace is how long a leaving worker may finish its work. Default 25 s.
	Grace time.Duration
	// Running is how many jobs run at a time. Default 1, because each job uses all cores.
	Running int
	// Retries is how often the job of a vertex program or of Graph500 restarts after losing a
	// worker, on the workers registered then. Default 2. If negative, the job fails.
	Retries int
	// Checkpoints is a place that the master and all workers can reach, a directory or
	// s3://BUCKET/PREFIX, where jobs of vertex programs store checkpoints. A restarted job resumes
	// from its newest checkpoint. If empty, workers send checkpoints to the master, which stores
	// them in Data. Without Data, or with "off", there are no checkpoints. A checkpoint is taken
	// every CheckpointEvery supersteps or every CheckpointInterval. Without either, the interval is
	// optimal for the cost of a checkpoint and MTBF, the mean time between failures, default 24 h.
	// With CheckpointStrict, a job fails if two consecutive checkpoints cannot be stored.
	Checkpoints        string
	CheckpointEvery    int
	CheckpointInterval time.Duration
	MTBF               time.Duration
	CheckpointStrict   bool
	// Stragglers decides about jobs with checkpoints on a slow worker. move, the default: they
	// continue without it, if that is expected to save time. off: they stay.
	Stragglers string
	// Standby stores the state in Checkpoints instead of Data, for several masters with the same
	// Checkpoints. One leads, and the others stand by until it ends or can no longer reach the
	// place. Data then contains results only.
	Standby bool
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

// The values of Options.Stragglers.
const (
	moveStragglers  = "move"
	leaveStragglers = "off"
)

// retries is the default of Options.Retries. After more losses the job itself is probably the
// cause.
const retries = 2

// Config is Options and what only superstep's command line and tests need. Other programs do not
// use it. It may change in any version.
type Config struct {
	Options
	daemon.Master
	shared *standby.Log // the shared state of masters with Standby
}

// complete checks the options and fills in defaults.
func (o *Config) complete() (err error) {
	if err := o.Complete("master", o.TokenFile,
		certs.Names{Cert: o.TLSCert, Key: o.TLSKey, CA: o.TLSCA}, o.Programs, o.Log); err != nil {
		return err
	}
	if !o.MetricsToken.Given() {
		if o.MetricsToken, err = control.ReadToken(o.MetricsTokenFile); err != nil {
			return fmt.Errorf("master: Options.MetricsTokenFile: %w", err)
		}
	}
	if min(o.Lease, o.Hold, o.Grace, o.KeepResults, o.CheckpointInterval,
		o.MTBF) < 0 || o.CheckpointEvery < 0 || o.Running < 0 || o.KeepResultBytes < 0 {
		return fmt.Errorf("master: found a negative number in the options: Lease %v, Hold %v, "+
			"Grace %v, KeepResults %v, KeepResultBytes %d, Running %d", o.Lease, o.Hold, o.Grace,
			o.KeepResults, o.KeepResultBytes, o.Running)
	}
	if err := quotas(o.Quotas).check(); err != nil {
		return err
	}
	o.Lease = cmp.Or(o.Lease, control.Lease)
	o.Hold = cmp.Or(o.Hold, control.Hold)
	o.Grace = cmp.Or(o.Grace, 25*time.Second)
	o.Retries = cmp.Or(o.Retries, retries)
	if o.Standby && !o.Token.Given() && o.TLS == nil {
		return errors.New("master: Standby needs TokenFile or TLS: all masters have the same")
	}
	if o.Standby && (o.Checkpoints == "" || o.Checkpoints == noCheckpoints ||
		objects.Is(o.Checkpoints)) {
		return errors.New("master: Standby needs Checkpoints, a place that all masters reach")
	}
	if err := o.placeCheckpoints(); err != nil {
		return err
	}
	switch o.Stragglers {
	case "", moveStragglers:
		o.SlowFor = cmp.Or(o.SlowFor, 10*time.Second)
	case leaveStragglers:
		o.SlowFor = 0
	default:
		return fmt.Errorf("master: found Stragglers %.150q, expected %s or %s", o.Stragglers,
			moveStragglers, leaveStragglers)
	}
	o.Running = cmp.Or(o.Running, 1)
	o.KeepResults = cmp.Or(o.KeepResults, keepResults)
	o.KeepResultBytes = cmp.Or(o.KeepResultBytes, keepResultBytes)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return nil
}
