package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/buildinfo"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built with",
		Example: `  superstep version`,
		Args:    exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.out, "superstep %s\n", buildinfo.Version())
			return nil
		},
	}
}
