package generate

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, name string }{
		{"kronecker:scale=20", "kronecker:scale=20,edgefactor=16,seed1=2,seed2=3"},
		{"kronecker:seed2=18446744073709551615,scale=48,edgefactor=256", "kronecker:scale=48,edgefactor=256,seed1=2,seed2=18446744073709551615"},
		{"rmat:scale=3", "rmat:scale=3,edgefactor=16,a=0.57,b=0.19,c=0.19,seed=1"},
		{"rmat:scale=3,a=.1,b=2e-1,c=0.7,seed=0", "rmat:scale=3,edgefactor=16,a=0.1,b=0.2,c=0.7,seed=0"},
		{"uniform:vertices=10,degree=3", "uniform:vertices=10,degree=3,seed=1"},
		{"uniform:degree=0,vertices=1,seed=9", "uniform:vertices=1,degree=0,seed=9"},
		{"grid:rows=007,columns=1", "grid:rows=7,columns=1"},
		{"star:vertices=1", "star:vertices=1"},
		{"path:vertices=281474976710656", "path:vertices=281474976710656"},
	} {
		g, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if g.Name() != c.name {
			t.Errorf("%s: name %s, want %s", c.text, g.Name(), c.name)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `generator "" is unknown, want one of kronecker, rmat, uniform, grid, star, path`},
		{"Kronecker:scale=3", `generator "Kronecker" is unknown, want one of kronecker,`},
		{"kronecker", "generator kronecker: scale is missing, want something like kronecker:scale=20"},
		{"kronecker:", "generator kronecker: scale is missing"},
		{"kronecker:skale=3", `generator kronecker: parameter "skale" is unknown, want one of scale, edgefactor, seed1, seed2`},
		{"kronecker:scale=3,", `generator kronecker: parameter "" is unknown`},
		{"kronecker:scale", "generator kronecker: scale has no value, want scale=VALUE"},
		{"kronecker:scale=", "generator kronecker: scale has no value, want scale=VALUE"},
		{"kronecker:scale=3,seed1=1,scale=3", "generator kronecker: scale is given twice"},
		{"kronecker:scale=ten", `generator kronecker: scale is "ten", want a whole number, 0 or more`},
		{"kronecker:scale= 3", `generator kronecker: scale is " 3", want a whole number, 0 or more`},
		{"kronecker:scale=-3", `generator kronecker: scale is "-3", want a whole number, 0 or more`},
		{"kronecker:scale=0", "generator kronecker: scale is 0, want a whole number from 1 to 48"},
		{"kronecker:scale=49", "generator kronecker: scale is 49, want a whole number from 1 to 48"},
		{"kronecker:scale=48,edgefactor=257", "generator kronecker: edgefactor is 257, want a whole number from 1 to 256"},
		{"kronecker:scale=99999999999999999999", `generator kronecker: scale is "99999999999999999999", want a whole number below 2^63`},
		{"kronecker:scale=3,seed1=18446744073709551616", `seed1 is "18446744073709551616", want a whole number below 2^64`},
		{"rmat:scale=3,a=x", `generator rmat: a is "x", want a number`},
		{"rmat:scale=3,a=0_1", `generator rmat: a is "0_1", want a number`},
		{"rmat:scale=3,a=1.5", "generator rmat: a is 1.5, want a probability from 0 to 1"},
		{"rmat:scale=3,c=NaN", "generator rmat: c is NaN, want a probability from 0 to 1"},
		{"rmat:scale=3,a=0.7", "generator rmat: a, b and c sum to 1.08, want at most 1"},
		{"uniform:vertices=10", "generator uniform: degree is missing"},
		{"uniform:vertices=0,degree=1", "generator uniform: vertices is 0, want a whole number from 1 to 281474976710656"},
		{"uniform:vertices=281474976710656,degree=257", "generator uniform: degree is 257, want a whole number from 0 to 256"},
		{"grid:rows=4294967296,columns=65537", "generator grid: columns is 65537, want a whole number from 1 to 65536"},
		{"grid:rows=18446744073709551615,columns=2", "generator grid: rows is 18446744073709551615, want"},
		{"star:vertices=0", "generator star: vertices is 0, want a whole number from 1 to"},
		{"path:length=3", `generator path: parameter "length" is unknown, want one of vertices`},
	} {
		g, err := Parse(c.text)
		if err == nil {
			t.Errorf("%q: no error, generator %s", c.text, g.Name())
		} else if !strings.HasPrefix(err.Error(), c.want) && !strings.HasSuffix(err.Error(),
			c.want) {
			t.Errorf("%q: error %q, want %q", c.text, err, c.want)
		}
	}
}

func TestIsGenerator(t *testing.T) {
	for text, want := range map[string]bool{
		"kronecker": true, "kronecker:": true, "star:rubbish": true, "": false,
		"kronecker.txt": false,
		"./star":        false, "C:star": false, "kron:scale=3": false,
	} {
		if IsGenerator(text) != want {
			t.Errorf("IsGenerator(%q) is %t", text, !want)
		}
	}
}

func TestKnown(t *testing.T) {
	for _, d := range Known() {
		g, err := Parse(d.Example)
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		for _, p := range d.Parameters {
			if !strings.Contains(g.Name(), p.Name+"=") || p.Help == "" {
				t.Errorf("%s: parameter %s is not in %s, or has no help", d.Name, p.Name, g.Name())
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, d := range Known() {
		f.Add(d.Example)
	}
	f.Add("rmat:scale=3,a=0x1p-2,b=-0,c=1e-400")
	f.Add("grid:rows=4294967296,columns=65536")
	f.Add("star:vertices=,,=")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text)
		if err != nil {
			if g != nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: generator %v, error %q", text, g, err)
			}
			return
		}
		if !IsGenerator(text) {
			t.Errorf("%q is a generator after all", text)
		}
		again, err := Parse(g.Name())
		if err != nil || again.Name() != g.Name() {
			t.Errorf("%q: name %s does not parse to itself: %v", text, g.Name(), err)
		}
		if g.Edges() < 0 || g.Vertices() < 1 || g.Vertices() > 1<<maxScale {
			t.Errorf("%s: %d vertices, %d edges", g.Name(), g.Vertices(), g.Edges())
		}
	})
}
