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

// WriteReport writes the page with the runs of a Local as one self-contained HTML file: index.html
// with the script, the styles, and the API's answers by path in it. The file's content security
// policy blocks other scripts and all loads. After an error the file is incomplete.
func WriteReport(w io.Writer, l *Local) error {
	script, style := string(embedded("/app.js")), string(embedded("/app.css"))
	if strings.Contains(strings.ToLower(script), "</script") ||
		strings.Contains(strings.ToLower(style), "</style") || strings.Contains(script, "<!--") {
		return errors.New("report: the page's own script or style would end its element")
	}
	head, tail, _ := strings.Cut(string(embedded("/index.html")), "</body>")
	out := bufio.NewWriter(w) // keeps its first error
	_, _ = strings.NewReplacer(
		"<head>", fmt.Sprintf("<head>\n<meta http-equiv=\"Content-Security-Policy\" content=\""+
			"default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; "+
			"base-uri 'none'; form-action 'none'\">\n<meta name=\"referrer\" "+
			"content=\"no-referrer\">", sum(script), sum(style)),
		"icon.svg", "data:image/svg+xml;base64,"+
			base64.StdEncoding.EncodeToString(embedded("/icon.svg")),
		`<link rel="stylesheet" href="app.css">`, "<style>"+style+"</style>",
		` src="app.js">`, ">"+script,
	).WriteString(out, head+`<script id="saved" type="application/json">`)
	if err := save(out, l, maxDetails); err != nil {
		return err
	}
	_, _ = out.WriteString("</script>\n</body>" + tail)
	return out.Flush()
}

// sum returns the hash of a script or style for the policy.
func sum(text string) string {
	s := sha256.Sum256([]byte(text))
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
