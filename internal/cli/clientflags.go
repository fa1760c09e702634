package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
)

// defaultMaster is where a master listens, and is looked for unless the environment says otherwise.
const (
	defaultMaster  = "127.0.0.1:7700"
	masterVariable = "SUPERSTEP_MASTER"
	tokenVariable  = "SUPERSTEP_TOKEN_FILE"
)

// clientFlags say which cluster a command is for.
type clientFlags struct {
	master, tokenFile string
	tls               tlsFlags
	patience          time.Duration
	workers           int  // to wait for
	lost              bool // or to begin without, if they were lost just now
	detach            bool
	priority          *oneOf // of jobs
	json              bool
}

func (f *clientFlags) define(cmd *cobra.Command) {
	master := os.Getenv(masterVariable)
	if master == "" {
		master = defaultMaster
	}
	cmd.Flags().StringVar(&f.master, "master", master, "use the cluster whose master is at `ADDR`, HOST:PORT; list standby masters too, separated by commas; $"+masterVariable+" sets the default")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", os.Getenv(tokenVariable), "the `FILE` with the cluster's token (default: that of this user's master at ADDR); $"+tokenVariable+" sets the default")
	fromEnvironment(cmd.Flags(), "master", masterVariable)
	fromEnvironment(cmd.Flags(), "token-file", tokenVariable)
	f.tls.define(cmd, true)
	nothing(cmd, "master")
	inGroup(cmd, "cluster", "master", "token-file")
	rare(cmd, "token-file")
}

func (f *clientFlags) defineJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// defineDetach is for commands that work in this process or, as a job, on a cluster.
func (f *clientFlags) defineDetach(cmd *cobra.Command) {
	f.define(cmd)
	master := cmd.Flags().Lookup("master")
	master.Usage, master.DefValue = "run as a job of the cluster whose master is at `ADDR`, HOST:PORT; list standby masters too, separated by commas. Without --master, --detach and $"+masterVariable+" the command runs in this process, as it does with --master "+inProcess, os.Getenv(masterVariable)
	f.definePatience(cmd, waitPatience)
	cmd.Flags().BoolVar(&f.detach, "detach", false, "submit the job to the cluster, by default at "+defaultMaster+", print its name, and do not wait")
	f.priority = wordFlag(cmd, "priority", "on a cluster: the priority of the job in the queue; only operators may use high", "normal", "low", "high")
	inGroup(cmd, "cluster", "detach", "priority")
	rare(cmd, "priority")
}

// inProcess is what --master says in place of an address to have a command run in this process, whatever the environment says.
const inProcess = "off"

// errNoCluster refuses that for what a cluster alone can do.
var errNoCluster = errors.New("--master off has a job run in this process: here a cluster is needed, at HOST:PORT")

// wanted reports whether flags, or the environment, mean a cluster.
func (f *clientFlags) wanted(flags *pflag.FlagSet) bool {
	return f.master != inProcess && (flags.Changed("master") || os.Getenv(masterVariable) != "") || f.detach
}

// changed returns the first of some flags that was given.
func changed(flags *pflag.FlagSet, names []string) (string, bool) {
	i := slices.IndexFunc(names, flags.Changed)
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// How long commands try to reach a master by default: those that wait for something, and those that only ask.
const (
	waitPatience = time.Minute
	askPatience  = 10 * time.Second
)

// definePatience is for commands that talk to a master.
func (f *clientFlags) definePatience(cmd *cobra.Command, patience time.Duration) {
	cmd.Flags().DurationVar(&f.patience, "retry-for", patience, "try for `TIME` to reach a master that does not answer; 0 tries once")
	nothing(cmd, "retry-for")
	inGroup(cmd, "cluster", "retry-for")
	rare(cmd, "retry-for")
}

// defineAsk defines the flags of a command that only asks a master something.
func (f *clientFlags) defineAsk(cmd *cobra.Command) {
	f.define(cmd)
	f.definePatience(cmd, askPatience)
	f.defineJSON(cmd)
}

// awaited takes over how many workers --workers says to wait for, which is 0 unless the flag was given.
func (f *clientFlags) awaited(flags *pflag.FlagSet, n int) error {
	if !flags.Changed("workers") {
		return nil
	}
	if n < 1 {
		return usagef("--workers: found %d, expected 1 or more", n)
	}
	f.workers = n
	return nil
}

// callTimeout bounds the calls that answer at once.
const callTimeout = 10 * time.Second

// connect waits until the master answers and, if that was asked for, until there are so many workers. What it waits for, and
// what happens to the connection, is said through warn.
func (f *clientFlags) connect(ctx context.Context, warn func(line string)) (*client.Client, error) {
	c, err := f.open(warn)
	if err != nil {
		return nil, err
	}
	err = c.Reach(ctx)
	if err == nil && f.workers > 0 {
		err = c.AwaitWorkers(ctx, f.workers, f.lost, func(found int) {
			warn(fmt.Sprintf("waiting for %s: %d registered", things(f.workers, "worker", "workers"), found))
		})
		if few := (*client.FewWorkersError)(nil); f.lost && errors.As(err, &few) && few.Enough() {
			warn(fmt.Sprintf("%v, and lost %s: the job begins without it", err, strings.Join(few.Lost, ", ")))
			err = nil
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// open prepares to talk to the master.
func (f *clientFlags) open(warn func(line string)) (*client.Client, error) {
	if f.master == inProcess {
		return nil, usagef("%w", errNoCluster)
	}
	token, err := readToken("--token-file", f.tokenFile, warn)
	if err != nil {
		return nil, err
	}
	files, err := f.tls.load(nil)
	if err != nil {
		return nil, err
	}
	if f.patience < 0 {
		return nil, usagef("--retry-for: found %v, expected a time, such as 30s", f.patience)
	}
	c, err := client.New(client.Options{Address: f.master, Credentials: control.Credentials{Token: token, TLS: files}, Patience: max(f.patience, time.Millisecond), Log: warn})
	if err != nil {
		return nil, usagef("--master: %w", err)
	}
	return c, nil
}

// tell connects to the master, makes a call, and writes the answer: as JSON, or as text words it. Errors are worded for people.
func tell[Q, A any, M interface {
	*A
	proto.Message
}](
	ctx context.Context, a *app, f *clientFlags,
	call func(control.ClusterClient, context.Context, *connect.Request[Q]) (*connect.Response[A], error), question *Q, text func(*A) string,
) error {
	c, err := f.connect(ctx, a.warn)
	if err != nil {
		return err
	}
	defer c.Close()
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := call(c.Cluster(), bounded, connect.NewRequest(question))
	switch {
	case err != nil:
		return c.Explain(ctx, err)
	case f.json:
		return printJSON(a.out, M(answer.Msg))
	default:
		_, err = io.WriteString(a.out, text(answer.Msg))
		return err
	}
}
