package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/statefile"
)

// A configuration file has the flags of a command, by their names, in YAML:
//
//	listen: 10.0.0.1:7700
//	lease: 5s
//	data-root: [/graphs, /scratch]
//
// What the command line says counts before the environment, and that before the file.

// configName is the flag that names the file.
const configName = "config"

// maxConfig bounds a configuration file: it has a line for each flag.
const maxConfig = 64 << 10

// configFlag lets a file have what flags of the command do not say.
func configFlag(cmd *cobra.Command) {
	var file string
	cmd.Flags().StringVar(&file, configName, "", "read flags from `FILE`, in YAML, such as listen: 10.0.0.1:7700; the command line and the environment override it")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if file != "" {
			if err := applyConfig(cmd.Flags(), file); err != nil {
				return usagef("--config: %w", err)
			}
			if err := given(cmd); err != nil {
				return err
			}
		}
		return run(cmd, args)
	}
}

// environmentOf is the annotation of a flag whose default comes from a variable of the environment.
const environmentOf = "environment"

// fromEnvironment notes that a variable says what a flag does.
func fromEnvironment(flags *pflag.FlagSet, name, variable string) {
	_ = flags.SetAnnotation(name, environmentOf, []string{variable}) // the flag is there
}

// applyConfig sets flags by a file.
func applyConfig(flags *pflag.FlagSet, file string) error {
	if err := readable(file); err != nil {
		return err
	}
	data, err := statefile.ReadSmall(file)
	if err != nil {
		return err
	}
	settings, err := readConfig(flags, file, data)
	if err != nil {
		return err
	}
	for _, s := range settings {
		if s.flag.Changed || slices.ContainsFunc(s.flag.Annotations[environmentOf], func(v string) bool { return os.Getenv(v) != "" }) {
			continue
		}
		if err := s.set(flags); err != nil {
			return err
		}
	}
	return nil
}

// setting is what a file says of a flag.
type setting struct {
	flag   *pflag.Flag
	at     string // FILE:LINE:COLUMN of the value
	values []string
	places []string // FILE:LINE:COLUMN of each value
}

func (s *setting) set(flags *pflag.FlagSet) error {
	if list, ok := s.flag.Value.(pflag.SliceValue); ok {
		s.flag.Changed = true
		if err := list.Replace(nil); err != nil {
			return err
		}
		for i, text := range s.values {
			if err := list.Append(text); err != nil {
				return fmt.Errorf("%s: %s: found %.80q, %w", s.places[i], s.flag.Name, text, err)
			}
		}
		return nil
	}
	for _, text := range s.values {
		err := flags.Set(s.flag.Name, text)
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) {
			err = errors.Unwrap(invalid)
		}
		if err != nil {
			what, _ := pflag.UnquoteUsage(s.flag)
			return fmt.Errorf("%s: %s: found %.80q, expected %s: %w", s.at, s.flag.Name, text, what, err)
		}
	}
	return nil
}

// readConfig reads a file, and refuses what is no setting of a flag.
func readConfig(flags *pflag.FlagSet, file string, data []byte) (all []setting, err error) {
	defer func() {
		if r := recover(); r != nil { // of the parser
			err = fmt.Errorf("%s: cannot be read: %v", file, r)
		}
	}()
	if len(data) > maxConfig {
		return nil, fmt.Errorf("%s: found %d bytes, expected %d at most", file, len(data), maxConfig)
	}
	if i := bytes.IndexFunc(data, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }); i >= 0 {
		return nil, fmt.Errorf("%s:%d: found byte %#02x, expected text", file, 1+bytes.Count(data[:i], []byte("\n")), data[i])
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntax(file, err)
	}
	for i, doc := range tree.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		case *ast.MappingNode:
			if i > 0 {
				return nil, fmt.Errorf("%s: found a second document, expected one", where(file, body))
			}
			for _, pair := range body.Values {
				s, err := settingOf(flags, file, pair)
				if err != nil {
					return nil, err
				}
				all = append(all, s)
			}
		default:
			return nil, fmt.Errorf("%s: found %s, expected the names of flags, each with a value: listen: 10.0.0.1:7700", where(file, body), kindOf(body))
		}
	}
	return all, nil
}

func settingOf(flags *pflag.FlagSet, file string, pair *ast.MappingValueNode) (setting, error) {
	key, ok := pair.Key.(*ast.StringNode)
	if !ok {
		return setting{}, fmt.Errorf("%s: found a key that is no text, expected the name of a flag", where(file, pair.Key))
	}
	flag := flags.Lookup(key.Value)
	if flag == nil || !Configurable(flag) {
		var names []string
		flags.VisitAll(func(f *pflag.Flag) {
			if Configurable(f) {
				names = append(names, f.Name)
			}
		})
		slices.Sort(names)
		return setting{}, fmt.Errorf("%s: found the key %.80q, expected one of %s", where(file, key), key.Value, strings.Join(names, ", "))
	}
	s := setting{flag: flag, at: where(file, pair.Value)}
	nodes := []ast.Node{pair.Value}
	if list, ok := pair.Value.(*ast.SequenceNode); ok && strings.HasSuffix(flag.Value.Type(), "Array") {
		nodes = list.Values
	}
	for _, n := range nodes {
		text, ok := textOf(flag.Value.Type(), n)
		if !ok {
			return setting{}, fmt.Errorf("%s: %s: found %s, expected %s", where(file, n), flag.Name, kindOf(n), wanted(flag.Value.Type()))
		}
		s.values, s.places = append(s.values, text), append(s.places, where(file, n))
	}
	return s, nil
}

// Configurable reports whether a file may have a flag.
func Configurable(f *pflag.Flag) bool {
	return !f.Hidden && !slices.Contains([]string{configName, "help", "version"}, f.Name)
}

// textOf returns a value as a flag of a type takes it, if it is of that type.
func textOf(kind string, n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, kind != "bool" && kind != "int"
	case *ast.LiteralNode:
		return n.Value.Value, kind != "bool" && kind != "int"
	case *ast.BoolNode:
		return n.GetToken().Value, kind == "bool"
	case *ast.IntegerNode:
		return n.GetToken().Value, kind == "int"
	}
	return "", false
}

// wanted says what values flags of a type have.
func wanted(kind string) string {
	switch {
	case kind == "bool":
		return "true or false"
	case kind == "int":
		return "a number"
	case kind == "duration":
		return "a time, such as 30s"
	case strings.HasSuffix(kind, "Array"):
		return "a text, or a list of texts"
	}
	return "a text; one that looks like something else wants quotes"
}

// kindOf says what a value is.
func kindOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return "an anchor, an alias or a tag"
	case *ast.StringNode:
		return fmt.Sprintf("the text %.40q", n.Value)
	}
	return fmt.Sprintf("%.40q", n.String())
}

// where is the place of something in a file.
func where(file string, n ast.Node) string {
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, t.Position.Line, t.Position.Column)
}

// syntax words an error of the parser: its own has a drawing.
func syntax(file string, err error) error {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil && e.GetToken().Position != nil {
		p := e.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", file, p.Line, p.Column, oneLine(errors.New(e.GetMessage())))
	}
	return fmt.Errorf("%s: %s", file, oneLine(err))
}
