// Package command is the command line of superstep as a library. [Main] is the main function of a
// binary that has all commands, the built-in programs, and your own.
//
//	main --> command.Main(programs) --> internal/cli --> one process: superstep.Run's engine
//	                                               --> a cluster: master, worker, client
//
// So the binary of your program is also the master, the workers and the client of its cluster.
// Importing the package links the drivers for S3, Parquet and OpenTelemetry. The package has only
// this file. examples/hops is the shortest program that uses it; CI runs it.
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

// Main is the main function of a binary with superstep's command line. It offers the given programs
// and the built-in ones. It does not return.
//
//	func main() { command.Main(pregel.Register("hops", Hops{})) }
func Main(programs ...pregel.Registered) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	os.Exit(cli.Run(name, os.Args[1:], programs, os.Stdout, os.Stderr))
}
