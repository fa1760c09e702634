package graphio

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestStrangeInputs reads files whose content contradicts their name. Each is refused, and the
// error explains why.
func TestStrangeInputs(t *testing.T) {
	long := `{"source":5,"target":6,"x":"` + strings.Repeat("y", 1<<16) + "\"}\n"
	for _, c := range []struct{ name, text, want string }{
		{"a.csv", "1,2\r3,4\r5,6\r", "a.csv:1:4: found a carriage return within a line"},
		{"b.csv", "source,target\ra,b\rc,d\r", "b.csv:1:14: found a carriage return within a line"},
		{"c.tsv", "1\t2\n1\t2\r3\t4\r\n", "c.tsv:2:4: found a carriage return within a line"},
		{"d.csv", "a,b\n\"x\ry\",b\nx\ry,b\n", "d.csv:3:2: found a carriage return within a line"},
		{"e.jsonl", long + "{\"source\":7,\"target\":8}\n", "e.jsonl:1:1: found no whole line in the first 64 KiB"},
	} {
		if _, err := Read(t.Context(), put(t, c.name, c.text), ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %s", c.name, err, c.want)
		}
	}
	for codec, program := range map[string]string{"xz": "xz", "bzip2": "bzip2"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Logf("%s is not there", program)
			continue
		}
		cmd := exec.Command(path, "-c")
		cmd.Stdin = strings.NewReader("1,2\n2,3\n")
		data, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		name := "a.csv." + map[string]string{"xz": "xz", "bzip2": "bz2"}[codec]
		for _, more := range []string{"garbage that follows", "gar"} {
			_, err = Read(t.Context(), put(t, name, string(data)+more), ReadOptions{})
			want := "found something else after the " + codec + " data"
			if more == "gar" { // reported as truncated gzip data
				want = "found the end of the file within " + codec + " data"
			}
			if codec+more != "bzip2gar" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, expected %s", name, err, want)
			}
		}
		if in, err := Read(t.Context(), put(t, name, string(data)+string(data)),
			ReadOptions{}); err != nil || in.Edges.Len() != 4 {
			t.Errorf("%s, twice: %v, %v", name, in, err)
		}
	}
}

// TestNamesThatCSVCannotHold writes names that would change when they are read back.
func TestNamesThatCSVCannotHold(t *testing.T) {
	for _, name := range []string{`a\r\nb`, `a\u0000b`} {
		in := mustRead(t, put(t, "a.jsonl", `{"source":"`+name+`","target":"x"}`+"\n"+
			`{"source":"a\nb","target":"c\rd"}`+"\n"), ReadOptions{})
		for file, ok := range map[string]bool{"b.csv": false, "b.tsv": false, "b.jsonl": true, "b.parquet": true} {
			path := t.TempDir() + "/" + file
			err := Write(t.Context(), path, in, WriteOptions{Format: formatOfName(file)})
			if (err == nil) != ok || err != nil &&
				!strings.Contains(err.Error(), "cannot hold the name") {
				t.Errorf("%s in %s: %v", name, file, err)
			}
			if ok {
				back := mustRead(t, path, ReadOptions{})
				if back.Names.Len() != in.Names.Len() ||
					!bytes.Equal(back.Names.Append(nil, 0), in.Names.Append(nil, 0)) {
					t.Errorf("%s in %s: %d names, %q first", name, file, back.Names.Len(),
						back.Names.Name(0))
				}
			}
		}
	}
}
