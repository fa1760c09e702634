package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built with",
		Example: `  superstep version`,
		Args:    exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.out, "superstep %s\n", version())
			return nil
		},
	}
}

// version returns the module's version, the revision it was built from, and what built it for what.
func version() string {
	return fmt.Sprintf("%s, %s %s/%s", revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			v += " " + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			v += " modified"
		}
	}
	return v
}
