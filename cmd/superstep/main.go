// Command superstep runs vertex programs on graphs, and the Graph500 benchmark.
package main

import (
	"os"

	"github.com/superstep-go/superstep/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], nil, os.Stdout, os.Stderr)) }
