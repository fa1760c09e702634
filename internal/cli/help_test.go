package cli

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/builtin"
)

var flagLine = regexp.MustCompile(`(?m)^ +(-\w, )?--[a-z]`)

// TestHelpHasFewFlags: the help of a command shows at most 20 flags. With --help-all it shows all.
func TestHelpHasFewFlags(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.Hidden || !c.HasParent() {
			return
		}
		args := strings.Fields(c.CommandPath())[1:]
		shown := map[string]int{}
		for _, help := range []string{"--help", "--help-all"} {
			var out bytes.Buffer
			if status := Run("superstep", append(args, help), nil, &out, &out); status != exitDone {
				t.Fatalf("%s: status %d: %s", c.CommandPath(), status, &out)
			}
			shown[help] = len(flagLine.FindAllString(out.String(), -1))
			if help == "--help" && strings.Contains(out.String(),
				"--help-all shows") != (shown[help] < flagsOfCommand(c)) {
				t.Errorf("%s shows %d flags of %d, and says\n%s", c.CommandPath(), shown[help],
					flagsOfCommand(c), &out)
			}
		}
		if shown["--help"] > 20 {
			t.Errorf("%s --help shows %d flags", c.CommandPath(), shown["--help"])
		}
		// including those of all commands
		if want := flagsOfCommand(c) + 3; shown["--help-all"] != want {
			t.Errorf("%s --help-all shows %d flags, expected %d", c.CommandPath(),
				shown["--help-all"], want)
		}
	}
	walk(Commands(0))
}

// flagsOfCommand counts the command's own flags, including --help.
func flagsOfCommand(c *cobra.Command) int {
	c.InitDefaultHelpFlag()
	return len(flagLine.FindAllString(c.NonInheritedFlags().FlagUsages(), -1))
}

// TestCommandsHaveTheirNames: each command is created by its name, and no others are created with
// it.
func TestCommandsHaveTheirNames(t *testing.T) {
	a := &app{name: "superstep", programs: builtin.Programs(), out: io.Discard, err: io.Discard}
	for name, command := range a.commands() {
		if made := command().Name(); made != name {
			t.Errorf("%s makes %s", name, made)
		}
		if all := a.root(name, "--help").Commands(); len(all) != 1 || all[0].Name() != name {
			t.Errorf("%s comes with %d commands", name, len(all))
		}
	}
	for _, args := range [][]string{nil, {"--quiet", "run"}, {"rum"}, {"help", "run"}} {
		if n := len(a.root(args...).Commands()); n != len(a.commands()) {
			t.Errorf("%q: found %d commands, expected %d", args, n, len(a.commands()))
		}
	}
}

// TestGroupsOfHelp: the help of run shows its flags in groups.
func TestGroupsOfHelp(t *testing.T) {
	var out bytes.Buffer
	Run("superstep", []string{"run", "--help"}, nil, &out, &out)
	at := 0
	for _, part := range []string{"\nInput:\n", " --graph GRAPH ", "\nRun:\n", " --param KEY=VALUE ", "\nOutput:\n", " --output FILE ", "\nCluster:\n", " --master ADDR ", "\nLimits:\n", " --max-supersteps N "} {
		i := strings.Index(out.String()[at:], part)
		if i < 0 {
			t.Fatalf("found no %q after %d in\n%s", part, at, &out)
		}
		at += i
	}
}

// TestMasterVariable: every command uses the cluster in $SUPERSTEP_MASTER, and this process with
// --master off.
func TestMasterVariable(t *testing.T) {
	t.Setenv(masterVariable, "127.0.0.1:1")
	for _, args := range [][]string{
		{"run", "wcc", "--graph", "path:vertices=3"},
		{"graph500", "--scale", "5", "--roots", "1"},
		{"netbench", "--sizes", "1KiB"},
		{"resume", "j-1"},
		{"jobs"},
	} {
		var out, wrong bytes.Buffer
		status := Run("superstep", append(args, "--retry-for", "0"), nil, &out, &wrong)
		if status != exitFailed || !strings.Contains(wrong.String(), "127.0.0.1:1") {
			t.Errorf("%v: status %d: %s", args, status, &wrong)
		}
	}
	var out, wrong bytes.Buffer
	if status := Run("superstep",
		[]string{"run", "wcc", "--graph", "path:vertices=3", "--master", "off"}, nil, &out,
		&wrong); status != exitDone {
		t.Errorf("in this process: status %d: %s", status, &wrong)
	}
}
