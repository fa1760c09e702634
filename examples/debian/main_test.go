package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	for golden, print := range map[string]func(context.Context, dependencies, int, io.Writer) error{
		"testdata/available.golden": rank, "testdata/communities.golden": communities,
	} {
		var out bytes.Buffer
		if err := run(context.Background(), "testdata/available", 20, &out, print); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: found:\n%s\nexpected:\n%s", golden, &out, want)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := parse("list",
		strings.NewReader("Package: aa\nDEPENDS: bb:any (>> 1~2+b) | cc,\n dd [!i386]\nProvides: ee (= 1)\n\n \nPackage:bb\nDepends:\nPre-Depends: cc"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{
		{Name: "aa", Needs: [][]string{{"bb", "cc"}, {"dd"}}, Provides: []string{"ee"}},
		{Name: "bb", Needs: [][]string{{"cc"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no field", "Package: aa\n\nPackage bb\n", `list:3: found "Package bb", expected "Field: value"`},
		{"field's name", "Package: aa\n-x: 1\n", `list:2: found "-x: 1", expected "Field: value"`},
		{"continued nothing", "\n more\n", "list:2: a continued line, expected a field above it"},
		{"no package", "\n\nVersion: 1\nDepends: aa\n", "list:3: a stanza without the field Package"},
		{"twice", "Package: aa\npackage: bb\n", `list:2: a second field "package", expected one in a stanza`},
		{"name", "Package: Aa\n", `list:1: found "Aa", expected the name of a package`},
		{"no name", "Package:\n", `list:1: found "", expected the name of a package`},
		{"open version", "Package: aa\nDepends: bb (>= 1\n", `list:2: found "bb (>= 1", expected a package, such as "libc6 (>= 2.34)"`},
		{"no operator", "Package: aa\nDepends: bb (1)\n", `list:2: found "bb (1)", expected a package, such as "libc6 (>= 2.34)"`},
		{"empty relation", "Package: aa\nDepends: bb,, cc\n", `list:2: found "", expected a package, such as "libc6 (>= 2.34)"`},
		{"third line", "Package: aa\nDepends: bb,\n cc |\n d?d\n", `list:4: found "d?d", expected a package, such as "libc6 (>= 2.34)"`},
		{"bytes", "Package: aa\nProvides: \x00\xff\n", `list:2: found "\x00\xff", expected a package, such as "libc6 (>= 2.34)"`},
		{"long line", "Package: aa\nX: " + strings.Repeat("x",
			longestLine) + "\n", "list:2: bufio.Scanner: token too long"},
	} {
		if _, err := parse("list", strings.NewReader(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%s: found %v, expected %s", c.name, err, c.want)
		}
	}
}

func TestResolve(t *testing.T) {
	d := resolve([]Package{
		{Name: "user", Needs: [][]string{{"virtual"}, {"gone"}, {"gone", "real"}, {"real"}, {"self"}}, Provides: []string{"self"}},
		{Name: "real"},
		{Name: "second", Provides: []string{"virtual"}},
		{Name: "first", Provides: []string{"virtual"}},
	})
	arcs := map[string]bool{}
	for _, e := range d.edges {
		arcs[d.names[e.From]+">"+d.names[e.To]] = true
	}
	want := map[string]bool{
		// a loop of every package
		"user>user": true, "real>real": true, "first>first": true, "second>second": true,
		"user>first": true, "user>real": true,
	}
	if !reflect.DeepEqual(arcs, want) || len(d.edges) != len(want) || d.unmet != 1 {
		t.Errorf("found %v, %d unmet, expected %v, 1 unmet", arcs, d.unmet, want)
	}
}

// FuzzParse checks that parse does not panic, and that its packages are well-formed.
func FuzzParse(f *testing.F) {
	list, err := os.ReadFile("testdata/available")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(list))
	f.Add("Package: aa\nDepends: bb (>= 1) | cc,\n dd\n\nPackage: bb\nProvides: cc")
	f.Add(" x\n:\n#\nPackage")
	f.Fuzz(func(t *testing.T, text string) {
		packages, err := parse("list", strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "list:") || packages != nil {
				t.Fatalf("%v, and %d packages", err, len(packages))
			}
			return
		}
		for _, p := range packages {
			if !nameOnly.MatchString(p.Name) {
				t.Fatalf("a package called %q", p.Name)
			}
			for _, group := range p.Needs {
				if len(group) == 0 {
					t.Fatalf("%s needs nothing", p.Name)
				}
			}
		}
		d := resolve(packages)
		for _, e := range d.edges {
			if max(e.From, e.To) >= uint64(len(d.names)) {
				t.Fatalf("edge %v of %d packages", e, len(d.names))
			}
		}
	})
}
