package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/history"
)

// KindReport is About.Kind in reports.
const KindReport = "report"

// maxDetails limits the details of supersteps in a report, in bytes of JSON, because a browser
// loads the whole file.
const maxDetails = 24 << 20

// WriteReport writes the page with the runs of a Local as one self-contained HTML file: the script,
// the styles, and the API's answers by path. The file's content security policy blocks other
// scripts and all loads.
func WriteReport(w io.Writer, l *Local) error {
	answers, err := saved(l, maxDetails)
	if err != nil {
		return err
	}
	// Go's encoder writes <, > and & as \u003c and so on. So no text of the runs can end the script
	// element or begin another.
	data, err := json.Marshal(answers)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	script, style, icon := files()["/app.js"], files()["/app.css"], files()["/icon.svg"]
	if bytes.Contains(bytes.ToLower(script.plain), []byte("</script")) ||
		bytes.Contains(bytes.ToLower(style.plain), []byte("</style")) ||
		bytes.Contains(script.plain, []byte("<!--")) {
		return errors.New("report: the page's own script or style would end its element")
	}
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
		sum(script.plain), sum(style.plain))
	parts := [][]byte{
		[]byte("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n" +
			"<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
			"<meta name=\"color-scheme\" content=\"light dark\">\n<title>superstep</title>\n<link rel=\"icon\" href=\"data:image/svg+xml;base64," +
			base64.StdEncoding.EncodeToString(icon.plain) + "\">\n<style>"), style.plain,
		[]byte("</style>\n</head>\n<body>\n<div id=\"app\"><p>superstep: the page needs JavaScript.</p></div>\n<script id=\"saved\" type=\"application/json\">"), data,
		[]byte("</script>\n<script type=\"module\">"), script.plain,
		[]byte("</script>\n</body>\n</html>\n"),
	}
	_, err = w.Write(bytes.Join(parts, nil))
	return err
}

// sum returns the hash of a script or style for the policy.
func sum(text []byte) string {
	s := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(s[:])
}

// saved returns the API's answers for the runs of a Local, by the paths that the page asks for. It
// includes details of supersteps, the last first, up to most bytes.
func saved(l *Local, most int) (map[string]json.RawMessage, error) {
	licences, err := json.Marshal(string(files()["/licences.txt"].plain))
	if err != nil {
		return nil, err
	}
	s := New(l, Options{})
	answers := map[string]json.RawMessage{"licences": licences}
	bytes := 0
	ask := func(path string) {
		answer, fault := s.answer(path)
		answers[path], err = answer, cmp.Or(err, fault)
		bytes += len(answer)
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
	bytes = 0
	for _, j := range jobs {
		for _, superstep := range l.detailed(j.ID) {
			path := "jobs/" + url.PathEscape(j.ID) + "/steps/" + strconv.Itoa(superstep)
			ask(path)
			if bytes > most {
				delete(answers, path)
				return answers, err
			}
		}
	}
	return answers, err
}

// detailed returns the supersteps of a run that have details, the last first.
func (l *Local) detailed(id string) (all []int) {
	steps, _ := l.Steps(id, 0, history.MaxSteps)
	for i := len(steps) - 1; i >= 0; i-- {
		if d, _ := l.Detail(id, steps[i].Superstep); d != nil {
			all = append(all, steps[i].Superstep)
		}
	}
	return all
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
