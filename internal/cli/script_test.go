package cli_test

import (
	"os"
	"testing"

	"github.com/superstep-go/superstep/internal/cli"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/test/scripts"
)

// TestMain makes binaries with wrong results available to scripts.
func TestMain(m *testing.M) {
	scripts.Main(m, map[string]func(){
		"spoiled": func() { os.Exit(cli.RunSpoiled(os.Args[1:])) },
		"misled": func() {
			os.Exit(cli.RunReplaced(os.Args[1:],
				engine.Register("bfs", pregel.Erase(scripts.Misled{}))))
		},
		"replaced": func() { os.Exit(cli.RunReplaced(os.Args[1:], engine.Register("bfs", pregel.Erase(scripts.Hops{})))) },
	})
}

// TestScripts runs the command line like a user.
func TestScripts(t *testing.T) { scripts.Run(t, "../..", "testdata/script") }

// TestReplaced runs clusters with wrong programs. test/clusterscripts has the other scripts.
func TestReplaced(t *testing.T) { scripts.Run(t, "../..", "testdata/replaced") }
