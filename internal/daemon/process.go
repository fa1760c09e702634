package daemon

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/pregel"
)

// Process has the parameters of a master or worker besides its Options.
type Process struct {
	// Token is the content of its file, if it was read, and TLS has the certificates from their
	// files.
	Token control.Token
	TLS   *certs.Files
	// Registry has the programs; by default the built-in ones and those of the options.
	Registry engine.Registry
	// Build identifies the source code of the binary: it must be the same in all processes of a
	// cluster. Version is shown to other processes and to users.
	Build, Version string
	// Stores opens places of checkpoints; default store.Open.
	Stores func(place string) (store.Store, error)
	// Now and Random are the clock and the random source; default the system's.
	Now    func() time.Time
	Random io.Reader
}

// Complete fills in missing parameters: the token and the certificates from files, and the
// programs, which are the built-in ones and those of the options. Errors name the daemon.
func (p *Process) Complete(
	daemon, tokenFile string, files certs.Names, programs []pregel.Registered, log *slog.Logger,
) (err error) {
	if !p.Token.Given() {
		if p.Token, err = control.ReadToken(tokenFile); err != nil {
			return fmt.Errorf("%s: Options.TokenFile: %w", daemon, err)
		}
	}
	if p.TLS, err = control.LoadTLS(p.TLS, files, log); err != nil {
		return err
	}
	if p.Registry == nil {
		var problems []error
		if p.Registry, problems = builtin.With(programs); len(problems) > 0 {
			return errors.Join(problems...)
		}
	}
	p.Build = cmp.Or(p.Build, buildinfo.Source())
	p.Version = cmp.Or(p.Version, buildinfo.Revision())
	if p.Stores == nil {
		p.Stores = store.Open
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	p.Random = cmp.Or(p.Random, rand.Reader)
	return nil
}
