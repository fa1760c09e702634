// Command superstep runs vertex programs on graphs, and the Graph500 benchmark.
package main

import "github.com/superstep-go/superstep/command"

func main() { command.Main() }
