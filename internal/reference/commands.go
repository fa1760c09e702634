package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/cli"
)

// commands lists commands with their flags.
func commands(to *text, _ string) error {
	root := cli.Commands(columns)
	to.paragraphs(root.Long)
	to.paragraphs("A binary of your own (`command.Main`) has the same commands for the built-in " +
		"programs and its own. Exit status: 0 done, 1 failed, 2 wrong usage.")
	var rows [][]string
	walk(root, func(c *cobra.Command) {
		if c != root && c.Runnable() {
			rows = append(rows, []string{fmt.Sprintf("[`%s`](#%s)", c.CommandPath(),
				anchor(c.CommandPath())), plain(c.Short)})
		}
	})
	to.table([]string{"command", "what it does"}, rows)
	to.line("## Flags of all commands")
	to.block(root.PersistentFlags().FlagUsagesWrapped(columns))
	if err := root.PersistentFlags().Set(cli.HelpAll, "true"); err != nil {
		return err
	}
	walk(root, func(c *cobra.Command) {
		if c == root {
			return
		}
		to.line("## " + c.CommandPath())
		to.paragraphs(cmp.Or(c.Long, c.Short+"."))
		usage, _, _ := strings.Cut(c.UsageString(), "\nAll commands:\n")
		to.block(usage)
	})
	return nil
}

// anchor returns the anchor of a heading of letters, digits, blanks and hyphens.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }

// walk visits the commands that are not hidden, in the order of their names.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			walk(sub, visit)
		}
	}
}

// variables are the environment variables that the code reads, with their descriptions.
var variables = map[string]string{
	"SUPERSTEP_MASTER":                   "default of `--master`",
	"SUPERSTEP_TOKEN_FILE":               "default of `--token-file`",
	"SUPERSTEP_TLS_CERT":                 "default of `--tls-cert` of clients and workers",
	"SUPERSTEP_TLS_KEY":                  "default of `--tls-key` of clients and workers",
	"SUPERSTEP_TLS_CA":                   "default of `--tls-ca` of clients and workers",
	"SUPERSTEP_FAULT":                    "`POINT:N` ends a binary built with `-tags faults` at a point, for tests",
	"GOMEMLIMIT":                         "a limit of memory, if `--memory` is not given",
	"AWS_ENDPOINT_URL":                   "server of `s3://` names; default Amazon's",
	"AWS_ENDPOINT_URL_S3":                "the same; it comes before AWS_ENDPOINT_URL",
	"AWS_REGION":                         "region of `s3://` names",
	"AWS_DEFAULT_REGION":                 "the same, if AWS_REGION is not set",
	"AWS_ACCESS_KEY_ID":                  "key of `s3://` names; else `~/.aws/credentials` or the machine's role has it",
	"AWS_SECRET_ACCESS_KEY":              "secret of AWS_ACCESS_KEY_ID",
	"OTEL_EXPORTER_OTLP_ENDPOINT":        "collector that gets traces, by OTLP over HTTP",
	"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "the same for traces alone; it comes first",
	"OTEL_TRACES_EXPORTER":               "`none` turns traces off",
	"OTEL_SDK_DISABLED":                  "`true` turns traces off",
}

// configuration lists the keys of configuration files, and the environment variables.
func configuration(to *text, _ string) error {
	to.paragraphs("`superstep master` and `superstep worker` take flags from a file, `--config " +
		"FILE`, in YAML. A key is the name of a flag without hyphens before it. A flag that may " +
		"be given several times takes a list. An unknown key is an error with its line.")
	to.line("```yaml\nlisten: 10.0.0.1:7700\nlease: 5s\ndata: /var/lib/superstep\n```")
	to.paragraphs(
		"The command line comes first, then the environment, then the file, then the default.")
	to.line("## Environment")
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		rows = append(rows, []string{code(name), variables[name]})
	}
	to.table([]string{"variable", "what it does"}, rows)
	to.paragraphs("Headers, timeout, compression and certificates of traces follow the other " +
		"`OTEL_EXPORTER_OTLP_` variables of OpenTelemetry; `TRACEPARENT` names the span that a " +
		"command belongs to.")
	return nil
}
