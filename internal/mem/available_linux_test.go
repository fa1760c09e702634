package mem

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestGroupsLeft(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"memory.max":                              "max\n",
		"pod/memory.max":                          "1000\n",
		"pod/memory.current":                      "700\n",
		"pod/memory.stat":                         "anon 500\ninactive_file 100\nactive_file 100\n",
		"pod/box/memory.max":                      "5000\n",
		"pod/box/memory.current":                  "100\n",
		"full/memory.max":                         "1000\n",
		"full/memory.current":                     "1000\n",
		"memory/memory.limit_in_bytes":            "9223372036854771712\n",
		"memory/memory.usage_in_bytes":            "1\n",
		"memory/old/memory.limit_in_bytes":        "900\n",
		"memory/old/memory.usage_in_bytes":        "500\n",
		"memory/old/memory.stat":                  "inactive_file 9\ntotal_inactive_file 50\n",
		"memory/old/deeper/memory.usage_in_bytes": "7\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		groups string
		want   int64
	}{
		{"", math.MaxInt64},
		{"0::/\n", math.MaxInt64},
		{"0::/pod\n", 400},
		{"0::/pod/box\n", 400},
		{"0::/full\n", 1},
		{"0::/host/path/of/a/container\n", math.MaxInt64},
		{"4:memory:/old/deeper\n3:cpu:/\n", 450},
		{"4:memory:/old\n0::/pod\n", 400},
		{"4:memory:/\n0::/\n", 9223372036854771711},
	} {
		if got := leastOf(root, test.groups, group.left); got != test.want {
			t.Errorf("%q: %d left, want %d", test.groups, got, test.want)
		}
	}
	if n := Available(); n <= 0 {
		t.Errorf("%d bytes are available", n)
	}
}
