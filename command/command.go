// Package command is the command line of superstep as a library: [Main] gives a program of one's own all of it, with the programs that it
// registers beside the built-in ones.
package command

import (
	"os"
	"path/filepath"
	"strings"

	_ "github.com/superstep-go/superstep/drivers/otlp"
	_ "github.com/superstep-go/superstep/drivers/parquet"
	_ "github.com/superstep-go/superstep/drivers/s3"
	"github.com/superstep-go/superstep/internal/cli"
	"github.com/superstep-go/superstep/pregel"
)

// Main is the main function of a binary that has the whole command line of superstep, for the programs given beside the
// built-in ones. It does not return.
//
//	func main() { command.Main(pregel.Register("hops", Hops{})) }
func Main(programs ...pregel.Registered) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	os.Exit(cli.Run(name, os.Args[1:], programs, os.Stdout, os.Stderr))
}
