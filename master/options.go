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

// Options say how a master works. The zero value is for a cluster on one machine.
type Options struct {
	// Listen is where the master answers, HOST:PORT; port 0 is any. Default 127.0.0.1:7700.
	Listen string
	// Ready, if not nil, is called with the address where the master answers.
	Ready func(address string)
	// TokenFile has the token that workers and clients must know. By default, without TLS, it is a
	// token of the user's own for Listen, which is an address of this machine: a file of the user's
	// state directory, which workers and clients of that user read. Where others can reach the
	// master there is TLS, or a token that is known to be insecure. The token of MetricsTokenFile
	// opens /metrics and nothing else.
	TokenFile, MetricsTokenFile string
	// TLSCert, TLSKey and TLSCA are the files of this process's certificate, its key, and the CA
	// that others' are from; all or none. They are read again when they change. superstep ca makes
	// such files.
	TLSCert, TLSKey, TLSCA string
	// InsecureToken lets the token, and all data, travel in the clear where others can reach what
	// listens.
	InsecureToken bool
	// Programs are those of this binary beside the built-in ones, as pregel.Register returns them.
	// Workers have the same, of the same build.
	Programs []pregel.Registered
	// AuditLog is the file to which a line is added for each change that someone made, and for who
	// was refused; none by default.
	AuditLog string
	// Data is the directory where results are kept, and the queue, the list of jobs and the catalog
	// for the next master with the same directory; by default results are in one that is removed at
	// the end, and the rest is nowhere.
	Data string
	// KeepResults and KeepResultBytes say how long results are kept, and how many bytes of them:
	// the oldest go first, those of earlier masters in Data too. Defaults: a week, 10 GB.
	KeepResults     time.Duration
	KeepResultBytes int64
	// Quotas bound what each owner has, by the owner's name; that of "" is for all who have none of
	// their own. Default: no bounds.
	Quotas map[string]Quota
	// Lease is how long a worker may be silent; default 2.5 s, with which a loss is seen within 3
	// s.
	Lease time.Duration
	// Hold is how long a worker that is lost, or was there before the master was restarted, may
	// take to come back: its partitions of graphs are waited for. Default 1 minute.
	Hold time.Duration
	// Grace is how long a leaving worker may finish what it runs, default 25 s.
	Grace time.Duration
	// Running is how many jobs run at a time, default 1: each takes all the cores.
	Running int
	// Retries is how often the job of a vertex program that loses a worker begins again, from the
	// start, on the workers that are left; default 2. Negative is never: the job fails.
	Retries int
	// Checkpoints is a place that the master and all workers reach, a directory or
	// s3://BUCKET/PREFIX, where jobs of vertex programs keep checkpoints: a job that begins again
	// goes on from its newest one. Empty: workers send them to the master, which keeps them in
	// Data, and without Data, or by "off", none are kept. They are taken every CheckpointEvery
	// supersteps or CheckpointInterval; without either as often as pays by what one costs and MTBF,
	// the mean time between failures, default 24 h. CheckpointStrict fails a job when two in a row
	// cannot be stored.
	Checkpoints        string
	CheckpointEvery    int
	CheckpointInterval time.Duration
	MTBF               time.Duration
	CheckpointStrict   bool
	// Stragglers says what becomes of jobs that keep checkpoints on a worker that is slow. Default
	// move: they go on without it, where that is expected to take less time. off: they stay.
	Stragglers string
	// Standby has the state, in the place of Data, in Checkpoints, for all masters that are given
	// the same: one leads, and the others stand by until it ends or loses touch with the place.
	// Then Data has results alone.
	Standby bool
	// Log gets what happens, or is nil.
	Log *slog.Logger
}

// The values of Options.Stragglers.
const (
	moveStragglers  = "move"
	leaveStragglers = "off"
)

// retries is how often a job begins again by default: more than two losses are likely its own
// doing.
const retries = 2

// Config is Options, and what only the command line and the tests of superstep need. No other
// program uses it, and it may change in any version.
type Config struct {
	Options
	daemon.Master
	shared *standby.Log // that this master leads by, with Standby
}

// complete checks what is given, and adds what is not.
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
		return fmt.Errorf("master: a number of the options is negative: Lease %v, Hold %v, Grace %v, KeepResults %v, KeepResultBytes %d, Running %d",
			o.Lease, o.Hold, o.Grace, o.KeepResults, o.KeepResultBytes, o.Running)
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
