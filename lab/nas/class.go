package nas

import (
	"fmt"
	"strings"
)

// Class is a size of the benchmarks with the published results (NPB 3.4).
type Class struct {
	Name string
	CG   CGSize
	IS   ISSize
	FT   FTSize
}

// FTSize is a class of FT: a grid of X x Y x Z points, all powers of 2, and the published checksum
// of each iteration.
type FTSize struct {
	X, Y, Z int
	Sums    [6]complex128
}

// CGSize is a class of CG.
type CGSize struct {
	Rows       int     // of the matrix
	Nonzeros   int     // per vector whose outer product is added to the matrix
	Iterations int     // of the inverse power method
	Shift      float64 // of the eigenvalues
	Zeta       float64 // the published result
}

// ISSize is a class of IS. The rank of a key is the number of smaller keys.
type ISSize struct {
	Keys, MaxKey int
	// Tests are the five keys with published ranks.
	Tests [5]ISTest
}

// ISTest is a key with a known rank. The key with number Index has rank Rank in iteration Base, and
// Rise more in each further iteration. Each iteration replaces two keys by a small and a large one,
// so low keys have one more key below them, and high keys one less.
type ISTest struct{ Index, Rank, Rise, Base int }

// tests makes the tests from the published lists. The ranks of the first keys rise, those of the
// others fall.
func tests(indexes, ranks [5]int, rising, riseBase, fallBase int) (all [5]ISTest) {
	for i := range all {
		all[i] = ISTest{indexes[i], ranks[i], -1, fallBase}
		if i < rising {
			all[i].Rise, all[i].Base = 1, riseBase
		}
	}
	return all
}

// Classes are the supported classes, by size.
var Classes = []Class{
	{
		"S",
		CGSize{1400, 7, 15, 10, 8.5971775078648},
		ISSize{1 << 16, 1 << 11, tests([5]int{48427, 17148, 23627, 62548, 4431},
			[5]int{0, 18, 346, 64917, 65463}, 3, 0, 0)},
		FTSize{64, 64, 64, [6]complex128{
			554.6087004964 + 484.5363331978i, 554.6385409189 + 486.5304269511i, 554.6148406171 + 488.3910722336i,
			554.5423607415 + 490.1273169046i, 554.4255039624 + 491.7475857993i, 554.2683411902 + 493.2597244941i,
		}},
	},
	{
		"W",
		CGSize{7000, 8, 15, 12, 10.362595087124},
		ISSize{1 << 20, 1 << 16, tests([5]int{357773, 934767, 875723, 898999, 404505},
			[5]int{1249, 11698, 1039987, 1043896, 1048018}, 2, 2, 0)},
		FTSize{128, 128, 32, [6]complex128{
			567.3612178944 + 529.3246849175i, 563.1436885271 + 528.2149986629i, 559.4024089970 + 527.0996558037i,
			556.0698047020 + 526.0027904925i, 553.0898991250 + 524.9400845633i, 550.4159734538 + 523.9212247086i,
		}},
	},
	{
		"A",
		CGSize{14000, 11, 15, 20, 17.130235054029},
		ISSize{1 << 23, 1 << 19, tests([5]int{2112377, 662041, 5336171, 3642833, 4250760},
			[5]int{104, 17523, 123928, 8288932, 8388264}, 3, 1, 1)},
		FTSize{256, 256, 128, [6]complex128{
			504.6735008193 + 511.4047905510i, 505.9412319734 + 509.8809666433i, 506.9376896287 + 509.8144042213i,
			507.7892868474 + 510.1336130759i, 508.5233095391 + 510.4914655194i, 509.1487099959 + 510.7917842803i,
		}},
	},
}

// ClassNames returns the names of the classes.
func ClassNames() string {
	var names []string
	for _, c := range Classes {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// FindClass returns the class with this name.
func FindClass(name string) (Class, error) {
	for _, c := range Classes {
		if c.Name == name {
			return c, nil
		}
	}
	return Class{}, fmt.Errorf("found %q, expected one of %s", name, ClassNames())
}
