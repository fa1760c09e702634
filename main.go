package superstep

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/superstep-go/superstep/internal/cli"
	"github.com/superstep-go/superstep/pregel"
)

// Register gives a program a name on the command line and in a cluster, of letters, digits, _ . and -, that no other program has, a
// built-in one included. Its parameters are its exported fields with a `param` tag:
//
//	Source pregel.VertexID `param:"source" help:"where to start"`
//	Limit  int             `param:"limit" default:"10" help:"how far to go"`
//
// Their types are strings, booleans, integers and floats, also named ones, and pregel.VertexID, which is given as an id of
// the input; one without a default must be given. Parameters have different names, of the same characters. [Main] refuses what
// does not hold to this, with exit status 2.
func Register[V, M any](name string, p pregel.Program[V, M]) pregel.Registered {
	return pregel.Register(name, p)
}

// name returns what the binary is called.
func name() string { return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") }

// Main is the main function of a binary that has the whole command line of superstep, for the programs given beside the
// built-in ones. It does not return.
//
//	func main() { superstep.Main(superstep.Register("hops", Hops{})) }
func Main(programs ...pregel.Registered) {
	os.Exit(cli.Run(name(), os.Args[1:], programs, os.Stdout, os.Stderr))
}
