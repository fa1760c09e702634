package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/statefile"
)

// A configuration file contains flags of a command in YAML:
//
//	listen: 10.0.0.1:7700
//	lease: 5s
//	data-root: [/graphs, /scratch]
//
// The command line overrides the environment, which overrides the file.

// configName is the flag that names the file.
const configName = "config"

// configFlag adds the flag for a configuration file to a command.
func configFlag(cmd *cobra.Command) {
	var f struct {
		Config string `flag:"config" help:"read flags from {FILE}, in YAML, such as listen: 10.0.0.1:7700; the command line and the environment override it"`
	}
	flagsOf(cmd, &f)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.Config != "" {
			if err := applyConfig(cmd.Flags(), f.Config); err != nil {
				return usagef("--config: %w", err)
			}
			if err := given(cmd); err != nil {
				return err
			}
		}
		return run(cmd, args)
	}
}

// environmentOf is the annotation of a flag whose default comes from an environment variable.
const environmentOf = "environment"

// applyConfig sets flags from a file.
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
		if s.flag.Changed || slices.ContainsFunc(s.flag.Annotations[environmentOf],
			func(v string) bool { return os.Getenv(v) != "" }) {
			continue
		}
		if err := s.set(flags); err != nil {
			return err
		}
	}
	return nil
}

// setting is the value of a flag in a file.
type setting struct {
	flag   *pflag.Flag
	at     string // FILE:LINE of the key
	values []string
}

func (s *setting) set(flags *pflag.FlagSet) error {
	for _, text := range s.values {
		err := flags.Set(s.flag.Name, text)
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = errors.Unwrap(invalid)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: found %.80q, %w", s.at, s.flag.Name, text, err)
		}
	}
	s.flag.Changed = true // even if the list is empty
	return nil
}

// readConfig parses a file, and rejects keys that are not flags.
func readConfig(flags *pflag.FlagSet, file string, data []byte) (all []setting, err error) {
	defer func() {
		if r := recover(); r != nil { // of the parser
			err = fmt.Errorf("%s: cannot be read: %v", file, r)
		}
	}()
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }
	if i := bytes.IndexFunc(data, control); i >= 0 {
		return nil, fmt.Errorf("%s:%d: found byte %#02x, expected text", file,
			1+bytes.Count(data[:i], []byte("\n")), data[i])
	}
	lines := map[string]string{} // of the keys, such as ":1"
	for _, t := range lexer.Tokenize(string(data)) {
		switch t.Type {
		case token.MappingValueType: // the colon
			key := cmp.Or(t.Prev, t).Value
			lines[key] = cmp.Or(lines[key], fmt.Sprintf(":%d", t.Position.Line))
		// These could make a short file expand to a large value.
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType:
			return nil, fmt.Errorf("%s:%d:%d: found an anchor, an alias or a tag, expected a value",
				file, t.Position.Line, t.Position.Column)
		}
	}
	docs := yaml.NewDecoder(bytes.NewReader(data))
	var pairs yaml.MapSlice
	if err := docs.Decode(&pairs); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntax(file, err)
	}
	if err := docs.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: found a second document, expected one", file)
	}
	for _, pair := range pairs {
		key := fmt.Sprint(pair.Key)
		s := setting{flag: flags.Lookup(key), at: file + lines[key]}
		if s.flag == nil || !configurable(s.flag) {
			var names []string
			flags.VisitAll(func(f *pflag.Flag) {
				if configurable(f) {
					names = append(names, f.Name)
				}
			})
			slices.Sort(names)
			return nil, fmt.Errorf("%s: found the key %.80q, expected one of %s", s.at, key,
				strings.Join(names, ", "))
		}
		kind := s.flag.Value.Type()
		values, list := pair.Value.([]any)
		if !list || !strings.HasSuffix(kind, "Array") {
			values = []any{pair.Value}
		}
		for _, value := range values {
			text := fmt.Sprint(value)
			if value == nil {
				return nil, fmt.Errorf("%s: %s: found nothing, expected a value", s.at, key)
			}
			if _, quoted := value.(string); !quoted && !bare.MatchString(kind) {
				return nil,
					fmt.Errorf("%s: %s: found %.40q, expected a text in quotes", s.at, key, text)
			}
			s.values = append(s.values, text)
		}
		all = append(all, s)
	}
	return all, nil
}

// bare matches the types of flags whose values need no quotes.
var bare = regexp.MustCompile(`^(u?int|bool|duration)`)

// configurable reports whether a configuration file may contain a flag.
func configurable(f *pflag.Flag) bool {
	return !f.Hidden && !slices.Contains([]string{configName, "help", "version", HelpAll}, f.Name)
}

// syntax shortens an error of the parser, which contains an excerpt of several lines.
func syntax(file string, err error) error {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil && e.GetToken().Position != nil {
		p := e.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", file, p.Line, p.Column,
			oneLine(errors.New(e.GetMessage())))
	}
	return fmt.Errorf("%s: %s", file, oneLine(err))
}
