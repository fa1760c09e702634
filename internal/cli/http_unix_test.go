//go:build unix

package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/scripts"
)

var address = regexp.MustCompile(`(http://127\.0\.0\.1:[0-9]+/)(\?token=[0-9a-f]{64})?`)

// saysAddress waits for a line with the given text and an address. It returns the address, and a
// client that has opened the link. Only this link has a token.
func (c *interrupted) saysAddress(lines *bufio.Reader, text string) (string, *http.Client) {
	c.t.Helper()
	jar, err := cookiejar.New(nil)
	must(c.t, err)
	client, links := &http.Client{Timeout: time.Minute, Jar: jar}, 0
	c.t.Cleanup(client.CloseIdleConnections)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			c.t.Fatalf("its output has no %q: %v", text, err)
		}
		url := address.FindStringSubmatch(line)
		if len(url) > 0 && url[2] != "" {
			get(c.t, client, url[0])
			links++
		}
		if len(url) > 0 && strings.Contains(line, text) {
			if links != 1 {
				c.t.Errorf("it said %d links", links)
			}
			return url[1], client
		}
	}
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	answer, err := client.Get(url)
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d", url, answer.StatusCode)
	}
	return string(body)
}

// leaves interrupts a command that serves until it is interrupted, and expects success.
func (c *interrupted) leaves(lines *bufio.Reader) {
	c.t.Helper()
	must(c.t, c.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, lines)
	if err := c.Wait(); err != nil {
		c.t.Errorf("after an interrupt: %v", err)
	}
}

func TestARunIsServedAndThenItsTrace(t *testing.T) {
	c := start(t, map[string]string{"g.el": ring}, "superstep", "run", "wcc", "-g", "g.el",
		"--partitions", "2", "--trace", "t.jsonl",
		"--http", "127.0.0.1:0", "--http-linger")
	lines := bufio.NewReader(c.stderr)
	url, client := c.saysAddress(lines, "the page stays at")
	for path, want := range map[string]string{
		"":                              "<title>superstep</title>",
		"api/v1/about":                  `"kind":"run","name":"superstep run wcc -g g.el`,
		"api/v1/jobs":                   `"job":"wcc","program":"wcc","graph":"g.el"`,
		"api/v1/jobs/1":                 `"state":"done"`,
		"api/v1/jobs/1/steps/0":         `"partitions":[{"partition":0`,
		"api/v1/graphs":                 `"name":"g.el","state":"loaded","vertices":3`,
		"api/v1/workers":                `"threads":`,
		"api/v1/stages":                 `"stage":"reading g.el"`,
		"api/v1/jobs/1/result":          "\n20 ",
		"api/v1/jobs/1/value?vertex=20": `"vertex":"20","values":["`,
		"metrics":                       `superstep_jobs_total{ended="converged",program="wcc",state="done"} 1`,
	} {
		if body := get(t, client, url+path); !strings.Contains(body, want) {
			t.Errorf("/%s: found %.300s, expected %s", path, body, want)
		}
	}
	c.leaves(lines)
	trace, err := os.ReadFile(c.Dir + "/t.jsonl")
	must(t, err)

	ui := start(t,
		map[string]string{"t.jsonl": string(trace), "cut.jsonl": string(trace[:len(trace)-5])},
		"superstep", "ui", "t.jsonl", "cut.jsonl")
	lines = bufio.NewReader(ui.stderr)
	url, client = ui.saysAddress(lines, "the page is at")
	awaits(t, client, url+"api/v1/stages", `"stage":"reading cut.jsonl","done":`+
		fmt.Sprint(len(trace)-5)+`,"total":`+fmt.Sprint(len(trace)-5)+`,"seconds":`)
	if jobs := get(t, client, url+"api/v1/jobs"); strings.Count(jobs, `"state":"done"`) != 2 {
		t.Errorf("found %s", jobs)
	}
	stages := get(t, client, url+"api/v1/stages")
	for _, want := range []string{`"job":"t.jsonl","stage":"reading g.el"`, `"job":"cut.jsonl","stage":"reading g.el"`} {
		if !strings.Contains(stages, want) {
			t.Errorf("found %s, expected %s", stages, want)
		}
	}
	if workers := get(t, client, url+"api/v1/workers"); workers != `{"items":[]}` {
		t.Errorf("a saved trace has workers: %s", workers)
	}
	ui.leaves(lines)

	// While a trace is being read, its beginning is already shown.
	ui = start(t, map[string]string{"slow": "pipe"}, "sh", "-c",
		"exec superstep ui /dev/stdin <slow")
	slow, err := os.OpenFile(ui.Dir+"/slow", os.O_WRONLY, 0)
	must(t, err)
	head, tail, _ := strings.Cut(string(trace), `{"v":2,"kind":"end"`)
	_, err = slow.WriteString(head)
	must(t, err)
	lines = bufio.NewReader(ui.stderr)
	url, client = ui.saysAddress(lines, "the page is at")
	awaits(t, client, url+"api/v1/stages", `"stage":"reading /dev/stdin"`)
	awaits(t, client, url+"api/v1/jobs", `"state":"running"`)
	_, err = slow.WriteString(`{"v":2,"kind":"end"` + tail)
	must(t, err)
	must(t, slow.Close())
	awaits(t, client, url+"api/v1/jobs", `"state":"done"`)
	ui.leaves(lines)
}

// awaits requests a page until it contains a text.
func awaits(t *testing.T, client *http.Client, url, want string) {
	t.Helper()
	body := ""
	if !scripts.Soon(
		func() bool { body = get(t, client, url); return strings.Contains(body, want) }) {
		t.Errorf("%s: found %.600s, expected %s", url, body, want)
	}
}
