package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnits runs systemd's check of the units, and starts nothing.
func TestUnits(t *testing.T) {
	files, err := filepath.Glob(deployed + "/systemd/*.service")
	must(t, err)
	if len(files) != 2 {
		t.Fatalf("found %v", files)
	}
	dir := t.TempDir()
	var copies []string
	for _, file := range files {
		text := string(read(t, file))
		if !strings.Contains(text, "/usr/local/bin/superstep") {
			t.Errorf("%s does not start /usr/local/bin/superstep", file)
		}
		text = strings.ReplaceAll(text, "/usr/local/bin/superstep", superstep(t))
		to := filepath.Join(dir, filepath.Base(file))
		must(t, os.WriteFile(to, []byte(text), 0o600))
		copies = append(copies, to)
		joined := strings.ReplaceAll(text, "\\\n", " ")
		line := regexp.MustCompile(`(?m)^ExecStart=\S+ (.*)$`).FindStringSubmatch(joined)
		if line == nil {
			t.Fatalf("%s starts nothing", file)
		}
		checkArguments(t, filepath.Base(file), strings.Fields(line[1]))
		for _, v := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(line[1], -1) {
			if !regexp.MustCompile(`(?m)^Environment=.*\b` + v[1] + `=`).MatchString(text) {
				t.Errorf("%s: %s has no value of its own", filepath.Base(file), v[1])
			}
		}
		for _, c := range regexp.MustCompile(`%d/([a-z-]+)`).FindAllStringSubmatch(line[1], -1) {
			if !strings.Contains(text, "LoadCredential="+c[1]+":") {
				t.Errorf("%s: there is no credential %s", filepath.Base(file), c[1])
			}
		}
	}
	verify := needs(t, "systemd-analyze", "systemd")
	out, err := exec.Command(verify,
		append([]string{"verify", "--man=no"}, copies...)...).CombinedOutput()
	if err != nil || len(strings.TrimSpace(string(out))) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
