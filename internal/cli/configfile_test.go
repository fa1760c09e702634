package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/job"
)

// configured is a command with a flag of each type.
type configured struct {
	Listen   string       `flag:"listen" help:"at {ADDR}"`
	Log      string       `flag:"log" help:"to {FILE}"`
	Lease    job.Duration `flag:"lease" default:"1s" help:"for {TIME}"`
	Retries  int          `flag:"retries" default:"2" range:"0..9" help:"{N} times"`
	Insecure bool         `flag:"insecure-token" help:"so"`
	Roots    []string     `flag:"data-root" help:"below {DIR}"`
	Hidden   bool         `flag:"end-with-stdin" group:"hidden" help:"hidden"`
}

func (c *configured) command() *cobra.Command {
	cmd := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
	flagsOf(cmd, c)
	fromEnvironment(cmd.Flags().Lookup("log"), "SUPERSTEP_TEST_LOG")
	configFlag(cmd)
	return cmd
}

func TestConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	run := func(text string, args ...string) (*configured, error) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := &configured{}
		cmd := c.command()
		cmd.SetArgs(append([]string{"--config", file}, args...))
		return c, cmd.Execute()
	}
	t.Setenv("SUPERSTEP_TEST_LOG", "")
	c, err := run("# all of it\nlisten: 10.0.0.1:7700 # here\nlog: \"a b\"\nlease: 5s\nretries: 7\ninsecure-token: true\ndata-root:\n  - /graphs\n  - /a,b\n")
	if err != nil || c.Listen != "10.0.0.1:7700" || c.Log != "a b" ||
		c.Lease != job.Duration(5*time.Second) || c.Retries != 7 || !c.Insecure ||
		strings.Join(c.Roots, " ") != "/graphs /a,b" {
		t.Errorf("found %+v, %v", c, err)
	}
	if c, err = run("listen: a:1\nlease: 5s\ndata-root: /x\n", "--lease", "3s", "--data-root",
		"/y"); err != nil || c.Lease != job.Duration(3*time.Second) || c.Listen != "a:1" ||
		strings.Join(c.Roots, " ") != "/y" {
		t.Errorf("beside flags: %+v, %v", c, err)
	}
	t.Setenv("SUPERSTEP_TEST_LOG", "elsewhere")
	if c, err = run("log: here\n"); err != nil || c.Log != "elsewhere" {
		t.Errorf("beside the environment: %+v, %v", c, err)
	}
	for _, empty := range []string{"", "\n", "# nothing\n", "---\n"} {
		if _, err := run(empty); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
	for text, want := range map[string]string{
		"listen: a:1\nlisen: b\n":               `f.yaml:2: found the key "lisen", expected one of data-root, insecure-token, lease, listen, log, retries`,
		"config: x\n":                           `f.yaml:1: found the key "config"`,
		"end-with-stdin: true\n":                `f.yaml:1: found the key "end-with-stdin"`,
		"listen: a:1\nlease: 3s\nlisten: b:2\n": `f.yaml:3:1: mapping key "listen" already defined at [1:1]`,
		"listen: 7700\n":                        `f.yaml:1: listen: found "7700", expected a text in quotes`,
		"listen: true\n":                        `f.yaml:1: listen: found "true", expected a text`,
		"listen:\n":                             `f.yaml:1: listen: found nothing, expected a value`,
		"retries:\n":                            `f.yaml:1: retries: found nothing, expected a value`,
		"data-root: [a, ]\nretries: ~\n":        `f.yaml:2: retries: found nothing, expected a value`,
		"listen: [a, b]\n":                      `f.yaml:1: listen: found "[a b]", expected a text`,
		"listen: {a: b}\n":                      `f.yaml:1: listen: found "map[a:b]", expected a text`,
		"lease: 5\n":                            `f.yaml:1: lease: found "5", expected a time, such as 30s`,
		"lease: soon\n":                         `f.yaml:1: lease: found "soon", expected a time, such as 30s`,
		"retries: 11\n":                         `f.yaml:1: retries: found "11", expected 0 to 9`,
		"retries: 1.5\n":                        `f.yaml:1: retries: found "1.5", expected a whole number`,
		"insecure-token: yes\n":                 `f.yaml:1: insecure-token: found "yes", expected true or false`,
		"data-root: [a, 7]\n":                   `f.yaml:1: data-root: found "7", expected a text`,
		"- listen\n":                            `f.yaml:1:1: sequence was used where mapping is expected`,
		"listen\n":                              `f.yaml:1:1: string was used where mapping is expected`,
		"listen: a:1\n---\nlease: 3s\n":         `f.yaml: found a second document`,
		"listen: &x a:1\nlog: *x\n":             `f.yaml:1:9: found an anchor, an alias or a tag`,
		"listen: \"a\nlease: 1s\n":              `f.yaml:1:9: `,
		"\tlisten: a\n":                         `f.yaml:1:7: tab character`,
		"listen: data-root\n# data-root:\ndata-root: 5\n": `f.yaml:3: data-root: found "5", expected a text`,
		"7: a\n":                     `f.yaml:1: found the key "7"`,
		"listen: \"\"\n":             `--listen: found nothing, expected a value`,
		"listen: a\x00b\n":           `f.yaml:1: found byte 0x00`,
		strings.Repeat("#", 1<<20+1): `found more than 1048576 bytes`,
	} {
		if _, err := run(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: found %v, expected %s", text, err, want)
		}
	}
}

// FuzzConfig: any file gives settings of existing flags or an error, and never a panic.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(
		"listen: 10.0.0.1:7700\nlease: 5s\nretries: 7\ninsecure-token: true\ndata-root: [a, b]\n"))
	f.Add([]byte("listen: &x |\n  a\nlog: *x\n<<: {lease: 1s}\n"))
	f.Add([]byte("? a\n: b\n--- !!str x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &configured{}
		flags := c.command().Flags()
		settings, err := readConfig(flags, "f", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%v", err)
			}
			return
		}
		for _, s := range settings {
			if flags.Lookup(s.flag.Name) != s.flag || !strings.HasPrefix(s.at, "f") ||
				len(s.values) == 0 && s.flag.Value.Type() != "stringArray" {
				t.Errorf("found %+v", s)
			}
			_ = s.set(flags)
		}
	})
}
