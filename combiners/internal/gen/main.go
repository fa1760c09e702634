// Command gen writes kernels_gen.go: the bulk loops of each combiner, from one definition of its
// operator. Each operator has its own loops so that the inner loops call no function: a method of a
// type parameter costs 4 times as much per edge.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"os"
	"text/template"
)

// operator defines a combiner by fragments of Go code. In them acc is the message so far, and x the
// next one.
type operator struct {
	Name    string // the kernel's type
	Params  string // its type parameters
	Args    string // its type arguments
	Message string // the type of a message
	Step    string // folds x into acc
	// condition for a terminal acc, checked after a step that may have changed it; "" if there is
	// none
	Stop       string
	StopInStep bool   // Step contains STOP, which checks Stop
	Cross      string // changes x along an edge of weight weights[j]; "" if weights do not matter
	// condition, in a monotone program: x improves on best[d], the receiver's best message so far
	Better  string
	Any     bool // one message is enough: the others are skipped; Pull is in first.go
	Bounded bool // pulls may end at arcs that are too heavy
	// the first message x, as if it was folded into the initial value of pulls; "" for x
	First string
	Sum   bool // pullAll is in sums.go
	Slow  bool // a step takes so long that testing who sent costs little: no pullAll
}

var operators = []operator{
	{Name: "sumKernel", Params: "[T pregel.Number]", Args: "[T]", Message: "T", Step: "acc += x", First: "x + 0", Sum: true},
	{Name: "minKernel", Better: "x < best[d]", Params: "[T pregel.Number]", Args: "[T]", Message: "T", Step: "if x < acc { acc = x; STOP }", Stop: "acc == k.terminal", StopInStep: true},
	{Name: "maxKernel", Better: "x > best[d]", Params: "[T pregel.Number]", Args: "[T]", Message: "T", Step: "if x > acc { acc = x; STOP }", Stop: "acc == k.terminal", StopInStep: true},
	{Name: "orKernel", Message: "bool", Step: "acc = acc || x", Stop: "acc"},
	{Name: "andKernel", Message: "bool", Step: "acc = acc && x", Stop: "!acc"},
	{Name: "orBitsKernel", Params: "[T Bits]", Args: "[T]", Message: "T", Step: "acc |= x", Stop: "acc == k.terminal"},
	{Name: "firstKernel", Params: "[T any]", Args: "[T]", Message: "T", Step: "acc = x", Stop: "true", Any: true},
	{Name: "funcKernel", Params: "[T any]", Args: "[T]", Message: "T", Step: "acc = k.combine(acc, x)", Slow: true},
	{Name: "minPlusKernel", Better: "x < best[d]", Params: "[W Weight]", Args: "[W]", Message: "W", Cross: "x + weights[j]", Step: "if x < acc { acc = x }", Bounded: true},
	{Name: "maxMinKernel", Better: "x > best[d]", Params: "[W Weight]", Args: "[W]", Message: "W", Cross: "min(x, weights[j])", Step: "if x > acc { acc = x }"},
	{Name: "sumTimesKernel", Params: "[W Weight]", Args: "[W]", Message: "W", Cross: "x * weights[j]", Step: "acc += x", First: "x + 0"},
}

//go:embed kernels.tmpl
var text string

func main() {
	funcs := template.FuncMap{"step": func(op operator, stop string) string {
		if op.StopInStep {
			body := ""
			if stop != "" {
				body = fmt.Sprintf("if %s { %s }", op.Stop, stop)
			}
			return string(bytes.ReplaceAll([]byte(op.Step), []byte("STOP"), []byte(body)))
		}
		if op.Stop == "" || stop == "" {
			return op.Step
		}
		if op.Stop == "true" {
			return op.Step + "\n" + stop
		}
		return fmt.Sprintf("%s\nif %s { %s }", op.Step, op.Stop, stop)
	}}
	var out bytes.Buffer
	tmpl := template.Must(template.New("kernels").Funcs(funcs).Parse(text))
	if err := tmpl.Execute(&out, operators); err != nil {
		fatal(err)
	}
	source, err := format.Source(out.Bytes())
	if err != nil {
		os.Stderr.Write(out.Bytes())
		fatal(err)
	}
	if err := os.WriteFile("kernels_gen.go", source, 0o644); err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "gen:", err)
	os.Exit(1)
}
