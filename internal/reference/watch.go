package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// metric is a metric as scraped.
type metric struct {
	help, kind string
	labels     map[string][]string
	where      []string
}

// Names of labels whose values differ from cluster to cluster.
var open = []string{"worker", "job_id", "program", "error", "version", "goversion"}

// metricsPage lists the metrics of a run, a master and a worker.
func metricsPage(to *text, _ string) error {
	local, master, worker := metrics.New("v"), metrics.New("v"), metrics.New("v")
	for _, set := range []*metrics.Set{local, master} {
		var work *metrics.Work
		if set == local {
			work = set.NewWork()
		}
		j := set.NewRuns(trace.Graph500).Journal(work)
		for _, e := range []trace.Event{
			&trace.Job{Job: "j", Program: trace.Graph500},
			&trace.Stage{Stage: "generating", Seconds: 1},
			&trace.Stage{Stage: "constructing", Seconds: 1},
			&trace.Search{
				Job: "bfs root 1", Kernel: "bfs", Seconds: 1, Translate: .5, Validate: 1, Edges: 1,
			},
			&trace.End{Job: "j", State: trace.Failed},
		} {
			if err := j.Record(e); err != nil {
				return err
			}
		}
	}
	master.NewMaster(func() *control.StatusResponse {
		return &control.StatusResponse{Workers: []*control.Worker{{
			Name: "w", State: control.WorkerState_WORKER_STATE_REGISTERED,
			Budget: new(control.Budget),
		}}}
	})
	worker.NewWorker()
	worker.NewMesh(func() mesh.Stats { return mesh.Stats{} })
	all := map[string]*metric{}
	for _, s := range []struct {
		name string
		set  *metrics.Set
	}{{"run", local}, {"master", master}, {"worker", worker}} {
		families, err := s.set.Gather()
		if err != nil {
			return fmt.Errorf("the metrics of a %s: %w", s.name, err)
		}
		for _, f := range families {
			name := f.GetName()
			if !strings.HasPrefix(name, "superstep_") {
				continue
			}
			m := all[name]
			if m == nil {
				m = &metric{help: f.GetHelp(), labels: map[string][]string{}}
				m.kind = strings.ToLower(f.GetType().String())
				all[name] = m
			}
			m.where = append(m.where, s.name)
			for _, series := range f.GetMetric() {
				for _, l := range series.GetLabel() {
					if values := m.labels[l.GetName()]; !slices.Contains(values, l.GetValue()) {
						m.labels[l.GetName()] = append(values, l.GetValue())
					}
				}
			}
		}
	}
	to.paragraphs("Masters and workers serve `/metrics`, and so does `superstep run --http " +
		"ADDR`. Beside these each process has the `go_` and `process_` metrics of Prometheus's " +
		"client for Go. A process has at most 2,000 series: the first 256 workers by name, the " +
		"first 32 programs, the jobs that run and the last few have series of their own.")
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		var labels []string
		for _, l := range slices.Sorted(maps.Keys(m.labels)) {
			text := code(l)
			if !slices.Contains(open, l) {
				text += ": " + strings.Join(m.labels[l], ", ")
			}
			labels = append(labels, text)
		}
		rows = append(rows, []string{code(name), m.kind, strings.Join(m.where,
			", "), strings.Join(labels, "; "), plain(m.help)})
	}
	to.table([]string{"metric", "type", "of", "labels", "meaning"}, rows)
	return nil
}

// schema is a part of a schema in openapi.json.
type schema struct {
	Ref         string `json:"$ref"`
	Type        any
	Description string
	Enum        []any
	Properties  map[string]schema
	Items       *schema
	Default     any
}

// operation is a method of a path in openapi.json.
type operation struct {
	Summary, Description string
	Parameters           []struct {
		Name, In, Description string
		Ref                   string `json:"$ref"`
	}
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
}

// others are the paths that openapi.json lacks, with the processes that serve them.
var others = [][]string{
	{"`GET /healthz`", "master, worker", "200 while the process lives and is not stuck; needs no token"},
	{"`GET /readyz`", "master, worker", "200 when it can get work; needs no token"},
	{"`GET /metrics`", "master, worker, `run --http`", "[metrics](metrics.md) for Prometheus"},
	{"`GET /metrics/targets`", "master", "where workers serve `/metrics`, for Prometheus's `http_sd`"},
	{"`GET /debug/status`", "master", "the state of the cluster in a few lines of text"},
}

// api lists the paths of the HTTP API, with their parameters and answers.
func api(to *text, root string) error {
	data, err := os.ReadFile(filepath.Join(root, "internal", "web", "openapi.json"))
	if err != nil {
		return err
	}
	var document struct {
		Info       struct{ Description string }
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	to.paragraphs("The paths are below `/api/v1`. `GET /api/v1/openapi.json` answers with the OpenAPI document that this page is from.")
	to.paragraphs(document.Info.Description)
	var rows [][]string
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range []string{"get", "post", "delete"} {
			raw, ok := document.Paths[path][method]
			if !ok {
				continue
			}
			var o operation
			if err := json.Unmarshal(raw, &o); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			var takes []string
			for _, p := range o.Parameters {
				takes = append(takes, code(p.Name))
			}
			for _, content := range o.RequestBody.Content {
				if content.Schema.Ref != "" {
					takes = append(takes, reference(content.Schema.Ref))
				}
				for _, name := range slices.Sorted(maps.Keys(content.Schema.Properties)) {
					takes = append(takes, code(name))
				}
			}
			text := o.Summary + "."
			if o.Description != "" {
				text += " " + o.Description
			}
			rows = append(rows, []string{code(strings.ToUpper(method) + " " +
				path), strings.Join(takes, ", "), plain(text)})
		}
	}
	to.table([]string{"path", "takes", "what it does"}, rows)
	to.line("## Other paths")
	to.table([]string{"path", "of", "what it answers"}, others)
	for _, name := range slices.Sorted(maps.Keys(document.Components.Schemas)) {
		s := document.Components.Schemas[name]
		to.line("## " + name)
		if s.Description != "" {
			to.paragraphs(s.Description + ".")
		}
		if rows := membersOf(s, ""); rows != nil {
			to.table([]string{"member", "type", "meaning"}, rows)
		}
	}
	return nil
}

// reference returns a link to a schema.
func reference(ref string) string {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	return fmt.Sprintf("[%s](#%s)", name, anchor(name))
}

// membersOf describes an object's members. Members of nested objects are named with a dot.
func membersOf(s schema, prefix string) (rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		text := plain(p.Description)
		if p.Default != nil {
			text = strings.TrimPrefix(fmt.Sprintf("%s (default %v)", text, p.Default), " ")
		}
		rows = append(rows, []string{code(prefix + name), typeOf(p), text})
		if p.Items != nil && p.Items.Properties != nil {
			p = *p.Items
		}
		rows = append(rows, membersOf(p, prefix+name+".")...)
	}
	return rows
}

// typeOf returns the type of a member.
func typeOf(s schema) string {
	switch {
	case s.Ref != "":
		return reference(s.Ref)
	case s.Enum != nil:
		var words []string
		for _, w := range s.Enum {
			words = append(words, fmt.Sprint(w))
		}
		return strings.Join(words, ", ")
	case s.Items != nil:
		return "list of " + typeOf(*s.Items)
	case s.Type == nil:
		return "any"
	}
	return fmt.Sprint(s.Type)
}
