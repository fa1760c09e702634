package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graphio"
)

// listing is the table of what is stored at a place: its snapshots, or its checkpoints.
type listing struct {
	table  strings.Builder
	broken int
}

// add adds a row: the cells of an item or, if it is broken, the reason. It returns the reason.
func (l *listing) add(name string, broken error, cells string, args ...any) string {
	escape.Printf(&l.table, "%s\t", name)
	if broken != nil {
		l.broken++
		escape.Printf(&l.table, "broken: %s\n", broken)
		return broken.Error()
	}
	escape.Printf(&l.table, cells+"\n", args...)
	return ""
}

// print prints the table or, if asked, the report as JSON. It returns an error if an item is broken.
// one is what an item is called.
func (l *listing) print(a *app, asJSON bool, report any, place fmt.Stringer, one string) error {
	var err error
	if asJSON {
		err = printValue(a.out, report)
	} else {
		_, err = io.WriteString(a.out, control.Columns(l.table.String(), a.width))
	}
	if err == nil && l.broken > 0 {
		err = fmt.Errorf("%s: %s broken", place, graphio.Counted(l.broken, one+" is", one+"s are"))
	}
	return err
}
