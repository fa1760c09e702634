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

// KindReport is the About.Kind of runs that are written into a report.
const KindReport = "report"

// maxDetails bounds the details of supersteps in a report, in bytes of JSON: a browser reads the
// file as a whole.
const maxDetails = 24 << 20

// WriteReport writes the page and what it shows of the runs of a Local as one file of HTML that
// needs nothing else: the script, the styles, and the answers of the API by their paths. A browser
// that opens it runs no other script and loads nothing, by a policy in the file.
func WriteReport(w io.Writer, l *Local) error {
	answers, err := saved(l, maxDetails)
	if err != nil {
		return err
	}
	// Go's encoder writes <, > and & as \u003c and so on, so that no text of the runs can end the
	// element or begin another.
	data, err := json.Marshal(answers)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	script, style, icon := files()["/app.js"], files()["/app.css"], files()["/icon.svg"]
	if bytes.Contains(bytes.ToLower(script.plain), []byte("</script")) || bytes.Contains(bytes.ToLower(style.plain), []byte("</style")) ||
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

// sum is what a policy names a script or a style by.
func sum(text []byte) string {
	s := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(s[:])
}

// saved asks the API for all that the page shows of the runs of a Local: the answers by path, as
// the page asks for them. Details of supersteps, the last first, are in it up to so many bytes.
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

// detailed lists the supersteps of a run whose details are kept, the last first.
func (l *Local) detailed(id string) (all []int) {
	steps, _ := l.Steps(id, 0, history.MaxSteps)
	for i := len(steps) - 1; i >= 0; i-- {
		if d, _ := l.Detail(id, steps[i].Superstep); d != nil {
			all = append(all, steps[i].Superstep)
		}
	}
	return all
}

// answer is what the API answers to a GET.
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

// answerWriter keeps an answer of the API.
type answerWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answerWriter) Header() http.Header         { return w.header }
func (w *answerWriter) WriteHeader(status int)      { w.status = status }
func (w *answerWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
