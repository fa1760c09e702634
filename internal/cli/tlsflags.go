package cli

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
)

// Variables that say what the flags for TLS do.
const (
	certVariable = "SUPERSTEP_TLS_CERT"
	keyVariable  = "SUPERSTEP_TLS_KEY"
	caVariable   = "SUPERSTEP_TLS_CA"
)

// tlsFlags name the files for TLS.
type tlsFlags struct{ certs.Names }

// tlsFlagNames are the flags' names.
var tlsFlagNames = []string{"tls-cert", "tls-key", "tls-ca"}

// define defines the flags; with the environment's values, where that says too which cluster is meant.
func (f *tlsFlags) define(cmd *cobra.Command, environment bool) {
	flag := func(to *string, i int, text, variable string) {
		usual := ""
		if environment {
			usual = os.Getenv(variable)
			text += "; $" + variable + " sets the default"
		}
		cmd.Flags().StringVar(to, tlsFlagNames[i], usual, text)
		if environment {
			fromEnvironment(cmd.Flags(), tlsFlagNames[i], variable)
		}
		inGroup(cmd, "cluster", tlsFlagNames[i])
		rare(cmd, tlsFlagNames[i])
	}
	flag(&f.Cert, 0, "the `FILE` with the certificate of this process, for TLS", certVariable)
	flag(&f.Key, 1, "the `FILE` with the key of --tls-cert", keyVariable)
	flag(&f.CA, 2, "the `FILE` with the CA that issued the certificates of the others", caVariable)
}

// load reads the files, if any are named. log gets it when they change later, or is nil.
func (f *tlsFlags) load(log *slog.Logger) (*certs.Files, error) {
	for i, file := range []string{f.Cert, f.Key, f.CA} {
		if err := readable(file); err != nil {
			return nil, usagef("--%s: %w", tlsFlagNames[i], err)
		}
	}
	files, err := control.LoadTLS(nil, f.Names, log)
	if err != nil {
		return nil, usagef("TLS: %w", err)
	}
	return files, nil
}

// words are the flags for a process of this cluster, whose directory may be another.
func (f *tlsFlags) words() []string {
	var all []string
	for i, file := range []string{f.Cert, f.Key, f.CA} {
		if file != "" {
			all = append(all, "--"+tlsFlagNames[i], file)
		}
	}
	return all
}

// absolute are the names for a process that may have another directory.
func absolute(n certs.Names) certs.Names {
	for _, file := range []*string{&n.Cert, &n.Key, &n.CA} {
		if full, err := filepath.Abs(*file); err == nil && *file != "" {
			*file = full
		}
	}
	return n
}

// insecureFlag lets a token travel in the clear.
func insecureFlag(flags *pflag.FlagSet, insecure *bool) {
	flags.BoolVar(insecure, "insecure-token", false, "let the token and all data travel in the clear between machines, where there is no TLS")
}
