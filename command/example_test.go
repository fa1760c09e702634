package command_test

import (
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/command"
	"github.com/superstep-go/superstep/pregel"
)

// This binary has all commands and one program of its own. Run it as "mine run ranks --graph FILE".
// Main does not return, so the example is only compiled.
func ExampleMain() {
	command.Main(pregel.Register("ranks", algorithms.PageRank{}))
}
