package cli

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
)

// Flags are derived from struct fields by their tags (see package job): from the description of a
// job, and from settings that only the command line has.

// fieldFlag is a flag that sets a field.
type fieldFlag struct{ job.Field }

func (f fieldFlag) Type() string {
	switch words := f.Words(); f.Value.Interface().(type) {
	case job.Duration:
		return "duration"
	case job.Size:
		return "string"
	default:
		return cmp.Or(strings.Join(words, "|"), f.Value.Kind().String())
	}
}

func (f fieldFlag) String() string {
	if !f.Value.IsValid() { // pflag compares with a zero value
		return ""
	}
	words := f.Words()
	switch v := f.Value.Interface().(type) {
	case *bool:
		switch {
		case v == nil:
			return words[0]
		case *v:
			return words[1]
		}
		return words[2]
	case encoding.TextMarshaler:
		if f.Value.IsZero() {
			return ""
		}
		text, _ := v.MarshalText() // a number cannot fail
		return string(text)
	case string:
		if v == "" && words != nil {
			return words[0]
		}
	}
	return fmt.Sprint(f.Value)
}

// Set sets the field. It rejects a number outside the field's range.
func (f fieldFlag) Set(text string) error { return cmp.Or(f.Field.Set(text), f.within()) }

// within returns an error unless the field is in the range of its tag, LEAST..MOST or LEAST.. .
func (f fieldFlag) within() error {
	least, most, ok := strings.Cut(f.Tag.Get("range"), "..")
	switch {
	case !ok, f.bound(least) <= ordinal(f.Value) &&
		(most == "" || ordinal(f.Value) <= f.bound(most)):
		return nil
	case most == "":
		return fmt.Errorf("expected %s or more", least)
	}
	return fmt.Errorf("expected %s to %s", least, most)
}

// bound parses an end of the field's range.
func (f fieldFlag) bound(text string) int64 {
	b := job.Field{Value: reflect.New(f.Value.Type()).Elem()}
	if err := b.Set(text); err != nil {
		panic(err) // an invalid tag
	}
	return ordinal(b.Value)
}

// ordinal returns an integer, but at most MaxInt64.
func ordinal(v reflect.Value) int64 {
	if v.CanInt() {
		return v.Int()
	}
	return int64(min(v.Uint(), math.MaxInt64))
}

// completed are the value names of flags with their own completion: files, and values that commands
// complete.
var completed = []string{"FILE", "DIR", "PLACE", "NAME=FILE", "GRAPH", "FORMAT", "KEY=VALUE", "NAMES"}

// flagsOf defines a flag for each field of a struct that has help, except those in without and
// those that the command has already.
func flagsOf(cmd *cobra.Command, of any, without ...string) *cobra.Command {
	defineFlags(cmd, cmd.Flags(), of, without...)
	return cmd
}

func defineFlags(cmd *cobra.Command, flags *pflag.FlagSet, of any, without ...string) {
	flags.SortFlags = false
	job.Complete(of)
	for _, f := range job.Fields(of) {
		name := cmp.Or(f.Tag.Get("flag"), strings.ReplaceAll(f.Key, "_", "-"))
		usage := strings.NewReplacer("{", "`", "}", "`").Replace(f.Tag.Get("help"))
		if usage == "" || name == "-" || slices.Contains(without, name) ||
			flags.Lookup(name) != nil {
			continue
		}
		switch to := f.Value.Addr().Interface().(type) {
		case *[]string:
			define := flags.StringArrayVarP
			if f.Tag.Get("list") != "" { // values have no commas, which separate them
				define = flags.StringSliceVarP
			}
			define(to, name, f.Tag.Get("short"), nil, usage)
		case pflag.Value:
			flags.VarP(to, name, f.Tag.Get("short"), usage)
		default:
			flag := flags.VarPF(fieldFlag{f}, name, f.Tag.Get("short"), usage)
			if f.Value.Kind() == reflect.Bool {
				flag.NoOptDefVal = "true"
			}
		}
		flag := flags.Lookup(name)
		group, more, rare := strings.Cut(f.Tag.Get("group"), ",")
		flag.Annotations = map[string][]string{groupOf: {group}}
		if rare {
			flag.Annotations[rareOf] = []string{more}
		}
		flag.Hidden = group == "hidden"
		value, _ := pflag.UnquoteUsage(flag)
		switch words := f.Words(); {
		case words != nil:
			_ = cmd.RegisterFlagCompletionFunc(name,
				cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		case value != "" && !slices.Contains(completed, value):
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
		}
	}
}

// Annotations of flags: the group in a command's help, and whether only --help-all shows it.
const (
	groupOf = "group"
	rareOf  = "more"
)

// groups are the groups of flags, in the order of help.
var groups = []string{"input", "run", "output", "cluster", "limits"}

// rare hides flags from the help unless --help-all is given.
func rare(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		cmd.Flags().Lookup(name).Annotations[rareOf] = []string{"more"}
	}
}

// HelpAll is the flag that shows all flags of a command.
const HelpAll = "help-all"

// usageTemplate returns cobra's template with grouped flags, in lines of at most width characters
// unless that is 0.
func usageTemplate(cmd *cobra.Command, width int) string {
	const flags, inherited = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}",
		"{{if .HasAvailableInheritedFlags}}"
	return strings.NewReplacer(flags, fmt.Sprintf("{{flagGroups . %d}}", max(width, 0)), inherited,
		"{{if false}}").Replace(cmd.UsageTemplate())
}

func init() { cobra.AddTemplateFunc("flagGroups", flagGroups) }

// flagGroups lists the flags of a command in groups. With --help-all it includes rare flags and
// those of all commands.
func flagGroups(cmd *cobra.Command, width int) string {
	all, left := cmd.Root().PersistentFlags().Changed(HelpAll), 0
	sets := map[string]*pflag.FlagSet{}
	list := func(group string, f *pflag.Flag) {
		switch {
		case f.Hidden:
			return
		case !all && len(f.Annotations[rareOf]) > 0:
			left++
			return
		case sets[group] == nil:
			sets[group] = pflag.NewFlagSet(group, pflag.ContinueOnError)
			sets[group].SortFlags = false
		}
		sets[group].AddFlag(f)
	}
	cmd.NonInheritedFlags().VisitAll(
		func(f *pflag.Flag) { list(strings.Join(f.Annotations[groupOf], ""), f) })
	if all {
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { list("all commands", f) })
	}
	var b strings.Builder
	for _, group := range append(slices.Clone(groups), "", "all commands") {
		if set := sets[group]; set != nil {
			title := cmp.Or(group, "flags")
			fmt.Fprintf(&b, "%s:\n%s\n", strings.ToUpper(title[:1])+title[1:],
				set.FlagUsagesWrapped(width))
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "%s --%s shows %s more.", cmd.CommandPath(), HelpAll,
			graphio.Counted(left, "flag"))
	}
	return strings.TrimRight(b.String(), "\n")
}

// flagsGiven returns the given flags that wanted accepts, as words of a command line.
func flagsGiven(flags *pflag.FlagSet, wanted func(f *pflag.Flag) bool) (words []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || !wanted(f) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if words = append(words, "--"+f.Name); f.NoOptDefVal == "" || f.NoOptDefVal != value {
				words[len(words)-1] += "=" + value
			}
		}
	})
	return words
}
