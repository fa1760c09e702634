package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
)

func ExampleHops() {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, []superstep.Edge{
		{From: 10, To: 20},
		{From: 20, To: 30},
		{From: 30, To: 40},
		{From: 10, To: 30},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	source, _ := g.Vertex(10)
	res, err := superstep.Run(ctx, g, Hops{Source: source})
	if err != nil {
		fmt.Println(err)
		return
	}
	for label, hops := range res.All() {
		fmt.Println(label, hops)
	}
	// Unordered output:
	// 10 0
	// 20 1
	// 30 1
	// 40 2
}

func TestReadmeHasThisProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```\n") {
		t.Error("the program in README.md is not examples/hops/main.go")
	}
}
