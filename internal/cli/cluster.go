package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/membership"
)

// printValue prints a value as JSON.
func printValue(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(data))
	return err
}

// descriptions matches fields of messages that contain JSON as a string.
var descriptions = regexp.MustCompile(`"(spec|source)_json":\s*("(?:[^"\\]|\\.)*")`)

// messageJSON encodes a message with the field names of control.proto. It includes unset fields if
// all is true, and embeds descriptions of jobs and graphs as JSON.
func messageJSON(m proto.Message, all bool) ([]byte, error) {
	data, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: all}.Marshal(m)
	return descriptions.ReplaceAllFunc(data, func(field []byte) []byte {
		parts, text := descriptions.FindSubmatch(field), ""
		if err := json.Unmarshal(parts[2], &text); err != nil || !json.Valid([]byte(text)) {
			text = "null"
		}
		return fmt.Appendf(nil, "%q: %s", parts[1], text)
	}), err
}

// readToken reads the token in a flag's file, and warns if every user can read the file.
func readToken(flag, file string, warn func(line string)) (control.Token, error) {
	var token control.Token
	err := readable(file)
	if err == nil {
		token, err = control.ReadToken(file)
	}
	if err != nil {
		return token, fmt.Errorf("%s: %w", flag, err)
	}
	// On Windows the mode does not tell.
	if i, err := os.Stat(file); err == nil && i.Mode()&0o004 != 0 && runtime.GOOS != "windows" {
		warn(fmt.Sprintf("%s: every user of this machine can read %s: chmod 600 it", flag, file))
	}
	return token, nil
}

// warn prints a warning.
func (a *app) warn(line string) { a.notices().say(slog.LevelWarn, line) }

// readable rejects a path that cannot be a text file. It also rejects a named pipe, because opening
// it could block forever, but accepts the pipes of a shell's process substitution.
func readable(path string) error {
	if path == "" {
		return nil
	}
	// opening a missing file will fail later
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: found a directory, expected a file", path)
	}
	if link, err := os.Lstat(path); err == nil && link.Mode()&os.ModeNamedPipe != 0 &&
		filepath.Dir(path) != "/dev/fd" {
		return fmt.Errorf("%s: found a pipe, expected a file", path)
	}
	return nil
}

// daemonFlags are the common flags of masters and workers.
type daemonFlags struct {
	accessFlags
	InsecureToken    bool   `flag:"insecure-token" help:"let the token and all data travel in the clear between machines, where there is no TLS"`
	MetricsTokenFile string `flag:"metrics-token-file" help:"the {FILE} with a token for /metrics alone, for Prometheus; the cluster's token opens /metrics too"`
	GossipListen     string `flag:"gossip-listen" default:"127.0.0.1:0" help:"gossip at {ADDR}, TCP and UDP, to notice dead processes sooner; off disables gossip"`
	GossipKeyFile    string `flag:"gossip-key-file" help:"the {FILE} with the cluster's gossip key; required with TLS alone if other machines can reach --gossip-listen (default: derived from the token)"`
	EndWithInput     bool   `flag:"end-with-stdin" group:"hidden" help:"end when standard input closes, as at an interrupt, soon"`
}

// begin prepares this process as a server, and reads the files that the flags name.
func (f *daemonFlags) begin(a *app) (who control.Credentials, metrics control.Token, err error) {
	a.interrupts.hearHangUp()
	a.writeAsync()
	if _, _, err := net.SplitHostPort(f.GossipListen); err != nil && f.GossipListen != "off" {
		return who, metrics,
			usagef("--gossip-listen: found %q, expected HOST:PORT or off", f.GossipListen)
	}
	if who, err = f.credentials(a.warn, a.logger()); err != nil {
		return who, metrics, err
	}
	who.InsecureToken = f.InsecureToken
	metrics, err = readToken("--metrics-token-file", f.MetricsTokenFile, a.warn)
	return who, metrics, err
}

// gossip starts gossip, or returns nil if it is off.
func (f *daemonFlags) gossip(
	self membership.Member, token control.Token, master string,
) (membership.Group, error) {
	if f.GossipListen == "off" {
		return nil, nil
	}
	if err := readable(f.GossipKeyFile); err != nil {
		return nil, fmt.Errorf("--gossip-key-file: %w", err)
	}
	key, err := membership.ReadKey(f.GossipKeyFile)
	if err != nil {
		return nil, err
	}
	if key == nil {
		if key, err = gossipKey(f.GossipListen, token, master); err != nil {
			return nil, fmt.Errorf("gossip key: %w; --gossip-listen off does without", err)
		}
	}
	return membership.Gossip(membership.Config{Self: self, Listen: f.GossipListen, Key: key})
}

// gossipKey returns the default key, derived from the token. With TLS but no token, on this
// machine, it is derived from the token that the user's master would have without TLS.
func gossipKey(listen string, token control.Token, master string) ([]byte, error) {
	if !token.Given() {
		_, port, err := net.SplitHostPort(master)
		if err != nil || !control.Loopback(listen) {
			return nil, nil // membership reports that a key is missing
		}
		who := control.Credentials{}
		if err := who.Complete(net.JoinHostPort("localhost", port)); err != nil {
			return nil, err
		}
		token = who.Token
	}
	return token.GossipKey()
}

// logger returns the log of a master or worker.
func (a *app) logger() *slog.Logger {
	level := slog.LevelInfo
	if a.all.Quiet {
		level = slog.LevelWarn
	}
	if a.all.LogFormat == "json" {
		return slog.New(jsonHandler(a.err, level))
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
}
