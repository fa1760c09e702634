package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
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
	patience          time.Duration
	json              bool
}

func (f *clientFlags) define(cmd *cobra.Command) {
	master := os.Getenv(masterVariable)
	if master == "" {
		master = defaultMaster
	}
	cmd.Flags().StringVar(&f.master, "master", master, "the master's `ADDR`, HOST:PORT; $"+masterVariable+" says it too")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", os.Getenv(tokenVariable), "the `FILE` with the cluster's token; $"+tokenVariable+" says it too")
	nothing(cmd, "master")
}

func (f *clientFlags) defineJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// definePatience is for commands that stay connected.
func (f *clientFlags) definePatience(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.patience, "retry-for", time.Minute, "when the connection to the master is lost, try to reach it for `TIME`")
	nothing(cmd, "retry-for")
}

// callTimeout bounds the calls that answer at once.
const callTimeout = 10 * time.Second

// open prepares to talk to the master. What happens to the connection is said through warn.
func (f *clientFlags) open(warn func(line string)) (*client.Client, error) {
	token, err := readToken("--token-file", f.tokenFile)
	if err != nil {
		return nil, err
	}
	if f.patience < 0 {
		return nil, usagef("--retry-for: found %v, expected a time, such as 30s", f.patience)
	}
	c, err := client.New(client.Options{
		Address: f.master, Token: token, Patience: max(f.patience, time.Millisecond),
		Lost: func(err error, patience time.Duration) {
			warn(fmt.Sprintf("lost the connection: %v; trying again for %v", err, patience))
		},
		Back: func() { warn("connected again") },
	})
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
	c, err := f.open(func(string) {})
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
