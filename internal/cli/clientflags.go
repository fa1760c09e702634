package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"google.golang.org/protobuf/proto"
)

// defaultMaster is where a master listens, and where clients look for it, by default.
const defaultMaster = "127.0.0.1:7700"

// masterVariable is the environment variable with the address of a cluster's master.
const masterVariable = "SUPERSTEP_MASTER"

// variables are the environment variables with defaults for flags of clients and workers.
var variables = map[string]string{
	"master": masterVariable, "token-file": "SUPERSTEP_TOKEN_FILE",
	"tls-cert": "SUPERSTEP_TLS_CERT", "tls-key": "SUPERSTEP_TLS_KEY", "tls-ca": "SUPERSTEP_TLS_CA",
}

// ofClients are flags that only apply to a cluster.
var ofClients = []string{"token-file", "retry-for", "priority", "tls-cert", "tls-key", "tls-ca"}

// masterFlag is the flag for the master's address.
type masterFlag struct {
	Master string `flag:"master" group:"cluster" default:"127.0.0.1:7700" help:"use the cluster whose master is at {ADDR}, HOST:PORT; list standby masters too, separated by commas"`
}

// accessFlags are the flags for tokens and certificates.
type accessFlags struct {
	TokenFile string `flag:"token-file" group:"cluster,more" help:"the {FILE} with the cluster's token (default, without TLS: that of this user's master at ADDR)"`
	Cert      string `flag:"tls-cert" group:"cluster,more" help:"the {FILE} of the certificate"`
	Key       string `flag:"tls-key" group:"cluster,more" help:"the {FILE} with the key for TLS"`
	CA        string `flag:"tls-ca" group:"cluster,more" help:"the {FILE} with the CA that issued the certificates of the others"`
}

// credentials reads the files. log receives later changes of the TLS files, and may be nil.
func (f *accessFlags) credentials(
	warn func(line string), log *slog.Logger,
) (who control.Credentials, err error) {
	if who.Token, err = readToken("--token-file", f.TokenFile, warn); err != nil {
		return who, err
	}
	for flag, file := range map[string]string{"cert": f.Cert, "key": f.Key, "ca": f.CA} {
		if err := readable(file); err != nil {
			return who, usagef("--tls-%s: %w", flag, err)
		}
	}
	if who.TLS, err = control.LoadTLS(nil, certs.Names{Cert: f.Cert, Key: f.Key, CA: f.CA},
		log); err != nil {
		return who, usagef("TLS: %w", err)
	}
	return who, nil
}

// clientFlags are the flags of a cluster's clients.
type clientFlags struct {
	masterFlag
	accessFlags
	RetryFor job.Duration `flag:"retry-for" group:"cluster,more" default:"10s" help:"try for {TIME} to reach a master that does not answer; 0 tries once"`
	JSON     bool         `flag:"json" help:"print JSON"`
	await    int          // number of workers to wait for
	lost     bool         // start with fewer workers if some were lost just now
}

// waitPatience is how long commands that wait for something try to reach a master by default.
const waitPatience = job.Duration(time.Minute)

// clientFlagsOf defines flags, some with defaults from the environment.
func clientFlagsOf(cmd *cobra.Command, of any, without ...string) *cobra.Command {
	flagsOf(cmd, of, without...)
	for name, variable := range variables {
		if f := cmd.Flags().Lookup(name); f != nil {
			f.Usage += "; $" + variable + " sets the default"
			fromEnvironment(f, variable)
		}
	}
	return cmd
}

// fromEnvironment sets the default of a flag from a variable.
func fromEnvironment(f *pflag.Flag, variable string) {
	f.Annotations[environmentOf] = []string{variable}
	if text := os.Getenv(variable); text != "" {
		_ = f.Value.Set(text) // a string flag accepts any text
		f.DefValue = text
	}
}

// jobFlags are the flags of commands that run in this process or as a job of a cluster.
type jobFlags struct {
	clientFlags
	Detach bool `flag:"detach" group:"cluster" help:"submit the job to the cluster, by default at 127.0.0.1:7700, print its name, and do not wait"`
	job.Queueing
}

func (f *jobFlags) define(cmd *cobra.Command) {
	f.RetryFor = waitPatience
	clientFlagsOf(cmd, f, "json")
	master := cmd.Flags().Lookup("master")
	master.DefValue = os.Getenv(masterVariable)
	master.Usage = "run as a job of the cluster whose master is at `ADDR`, HOST:PORT; list standby masters too, separated by commas. Without --master, --detach and $" +
		masterVariable + " the command runs in this process, as it does with --master " + inProcess
}

// inProcess is the value of --master that makes a command run in this process, even if the
// environment names a cluster.
const inProcess = "off"

// errNoCluster rejects --master off for commands that need a cluster.
var errNoCluster = errors.New(
	"--master off runs jobs in this process: this command needs a cluster, at HOST:PORT")

// wanted reports whether the flags or the environment select a cluster.
func (f *jobFlags) wanted(flags *pflag.FlagSet) bool {
	return f.Master != inProcess && (flags.Changed("master") || os.Getenv(masterVariable) != "") ||
		f.Detach
}

// changed returns the first of the named flags that was given.
func changed(flags *pflag.FlagSet, names ...string) (string, bool) {
	i := slices.IndexFunc(names, flags.Changed)
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// callTimeout bounds calls that answer at once.
const callTimeout = 10 * time.Second

// connect waits until the master answers and, if requested, until there are enough workers. It
// reports through warn what it waits for, and changes of the connection.
func (f *clientFlags) connect(ctx context.Context, warn func(line string)) (*client.Client, error) {
	c, err := f.open(warn)
	if err != nil {
		return nil, err
	}
	if err := c.AwaitWorkers(ctx, f.await, f.lost); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// with connects to the master and calls do, which shows progress.
func (f *clientFlags) with(
	ctx context.Context, a *app, do func(c *client.Client, d *progress) error,
) error {
	d := a.progress()
	defer d.done()
	c, err := f.connect(ctx, d.warn)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c, d)
}

// open makes a client without connecting yet.
func (f *clientFlags) open(warn func(line string)) (*client.Client, error) {
	if f.Master == inProcess {
		return nil, usagef("%w", errNoCluster)
	}
	who, err := f.credentials(warn, nil)
	if err != nil {
		return nil, err
	}
	patience := max(time.Duration(f.RetryFor), time.Millisecond)
	c, err := client.New(
		client.Options{Address: f.Master, Credentials: who, Patience: patience, Log: warn})
	if err != nil {
		return nil, usagef("--master: %w", err)
	}
	return c, nil
}

// tell connects to the master, makes a call, and prints the answer as JSON or text. It explains
// errors for users.
func tell[Q, A any, M interface {
	*A
	proto.Message
}](
	ctx context.Context, a *app, f *clientFlags,
	call func(control.ClusterClient, context.Context,
		*Q) (*A, error), question *Q, text func(*A) string,
) error {
	return f.with(ctx, a, func(c *client.Client, d *progress) error {
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		answer, err := call(c.Cluster(), bounded, question)
		d.done()
		if err != nil {
			return c.Explain(ctx, err)
		}
		return f.answer(a, M(answer), text(answer))
	})
}

// answer prints an answer of the master as JSON, or as text in columns.
func (f *clientFlags) answer(a *app, answer proto.Message, text string) error {
	if f.JSON {
		data, err := messageJSON(answer, true)
		if err != nil {
			return err
		}
		// protojson's spacing differs between binaries
		return printValue(a.out, json.RawMessage(data))
	}
	_, err := io.WriteString(a.out, control.Columns(text, a.width))
	return err
}
