package command_test

import (
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/command"
	"github.com/superstep-go/superstep/pregel"
)

// A binary with all commands, and one program of its own: run it as "mine run ranks --graph FILE".
// Main does not return, so this example is compiled only.
func ExampleMain() {
	command.Main(pregel.Register("ranks", algorithms.PageRank{}))
}
