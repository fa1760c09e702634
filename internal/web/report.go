package web

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/history"
)

// KindReport is About.Kind in reports.
const KindReport = "report"

// maxDetails limits the details of supersteps in a report, in bytes of JSON, because a browser
// loads the whole file.
const maxDetails = 24 << 20

// reportHead and reportTail are the file around the answers. Their verbs are the hashes of the
// script and the style, the icon, the style; and the script.
const (
	reportHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; ` +
		`style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>superstep</title>
<link rel="icon" href="data:image/svg+xml;base64,%s">
<style>%s</style>
</head>
<body>
<div id="app"><p>superstep: the page needs JavaScript.</p></div>
<script id="saved" type="application/json">`
	reportTail = `</script>
<script type="module">%s</script>
</body>
</html>
`
)

// WriteReport writes the page with the runs of a Local as one self-contained HTML file: the script,
// the styles, and the API's answers by path. The file's content security policy blocks other
// scripts and all loads. After an error the file is incomplete.
func WriteReport(w io.Writer, l *Local) error {
	script, style, icon := embedded("/app.js"), embedded("/app.css"), embedded("/icon.svg")
	if bytes.Contains(bytes.ToLower(script), []byte("</script")) ||
		bytes.Contains(bytes.ToLower(style), []byte("</style")) ||
		bytes.Contains(script, []byte("<!--")) {
		return errors.New("report: the page's own script or style would end its element")
	}
	out := bufio.NewWriter(w) // keeps its first error
	fmt.Fprintf(out, reportHead, sum(script), sum(style),
		base64.StdEncoding.EncodeToString(icon), style)
	if err := save(out, l, maxDetails); err != nil {
		return err
	}
	fmt.Fprintf(out, reportTail, script)
	return out.Flush()
}

// sum returns the hash of a script or style for the policy.
func sum(text []byte) string {
	s := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(s[:])
}

// save writes a JSON object with the API's answers for the runs of a Local, by the paths that the
// page asks for. It holds one answer at a time. It includes details of supersteps, the last first,
// up to most bytes.
//
// Go's encoder writes <, > and & as \u003c and so on. So no text of the runs can end the script
// element or begin another.
func save(out io.Writer, l *Local, most int) error {
	licences, err := json.Marshal(string(embedded("/licences.txt")))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `{"licences":%s`, licences)
	s, room := New(l, Options{}), math.MaxInt
	ask := func(path string) bool {
		answer, fault := s.answer(path)
		if err = cmp.Or(err, fault); err != nil || len(answer) > room {
			return false
		}
		room -= len(answer)
		name, _ := json.Marshal(path) // never fails for a string
		_, err = fmt.Fprintf(out, ",%s:%s", name, answer)
		return err == nil
	}
	for _, path := range []string{"about", "jobs", "stages", "log", "graphs", "workers"} {
		ask(path)
	}
	jobs := l.Jobs()
	for _, j := range jobs {
		of := "jobs/" + url.PathEscape(j.ID)
		for _, path := range []string{of, of + "/partitions", of + "/lanes", of + "/report"} {
			ask(path)
		}
		for from, more := 0, true; more; {
			ask(of + "/steps?from=" + strconv.Itoa(from))
			steps, _ := l.Steps(j.ID, from, maxSteps)
			if more = len(steps) == maxSteps; more {
				from = steps[len(steps)-1].Superstep + 1
			}
		}
	}
	room = most
	for _, j := range jobs {
		steps, _ := l.Steps(j.ID, 0, history.MaxSteps)
		for _, step := range slices.Backward(steps) {
			d, _ := l.Detail(j.ID, step.Superstep)
			if d != nil &&
				!ask("jobs/"+url.PathEscape(j.ID)+"/steps/"+strconv.Itoa(step.Superstep)) {
				break
			}
		}
	}
	if err == nil {
		_, err = io.WriteString(out, "}")
	}
	return err
}

// answer returns the API's answer to a GET request.
func (s *Site) answer(path string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, "http://localhost/api/v1/"+path, nil)
	if err != nil {
		return nil, err
	}
	to := &answerWriter{header: http.Header{}, status: http.StatusOK}
	s.api.ServeHTTP(to, r)
	if to.status != http.StatusOK {
		return nil, fmt.Errorf("report: %s: %s", path, strings.TrimSpace(to.body.String()))
	}
	return to.body.Bytes(), nil
}

// answerWriter is an http.ResponseWriter that keeps the answer.
type answerWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answerWriter) Header() http.Header         { return w.header }
func (w *answerWriter) WriteHeader(status int)      { w.status = status }
func (w *answerWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
