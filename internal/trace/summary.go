package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Summary has statistics of the final values of a run. Reports show them like aggregators, under
// fixed names.
type Summary struct {
	Groups *Groups  `json:"groups,omitempty"`
	Top    []Scored `json:"top,omitempty"`    // the highest scores, in descending order
	TopBy  string   `json:"top_by,omitempty"` // the name of the scores, if the program gives one
	// Reached is the number of vertices that a search has reached.
	Reached *int `json:"reached,omitempty"`
}

// Names of the parts of a summary among a run's aggregators.
const (
	GroupsName  = "groups"
	TopName     = "top"
	TopByName   = "top_by"
	ReachedName = "reached"
)

// IsSummary reports whether a name is that of a part of a summary.
func IsSummary(name string) bool {
	return name == GroupsName || name == TopName || name == TopByName || name == ReachedName ||
		strings.HasPrefix(name, topByText)
}

// topByText is the prefix of the name of the highest scores in texts, before the name of the
// scores.
const topByText = "top by "

// Groups are groups of vertices, such as components.
type Groups struct {
	Count   int     `json:"count"`
	Largest []Group `json:"largest"`
}

// Group is a group of vertices. If a vertex names it, Group is the vertex's input id.
type Group struct {
	Group uint64 `json:"group"`
	Name  string `json:"name,omitempty"` // the vertex's name, if the input has names
	Size  int    `json:"size"`
}

// Scored is a vertex, by its input id, and its score.
type Scored struct {
	Vertex uint64  `json:"vertex"`
	Name   string  `json:"name,omitempty"` // the vertex's name, if the input has names
	Score  float64 `json:"score"`
}

// firstFew is the number of groups and vertices that a summary names.
const firstFew = 10

// Add adds a group. Each group must be added only once.
func (g *Groups) Add(one Group) {
	g.Count++
	g.Largest = insert(g.Largest, one,
		func(a, b Group) int { return cmp.Or(b.Size-a.Size, cmp.Compare(a.Group, b.Group)) })
}

// Wants reports whether a vertex with a score may be among the first. Scores that are not finite
// never are.
func (s *Summary) Wants(score float64) bool {
	return !math.IsNaN(score) && !math.IsInf(score, 0) &&
		(len(s.Top) < firstFew || score >= s.Top[firstFew-1].Score)
}

// AddScore adds the score of a vertex for which Wants returned true.
func (s *Summary) AddScore(one Scored) {
	s.Top = insert(s.Top, one, func(a, b Scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Vertex, b.Vertex)) })
}

// Merge adds the summary of other vertices and other groups.
func (s *Summary) Merge(other *Summary) {
	if other.Groups != nil {
		s.Groups = cmp.Or(s.Groups, new(Groups))
		count := s.Groups.Count + other.Groups.Count
		for _, one := range other.Groups.Largest {
			s.Groups.Add(one)
		}
		s.Groups.Count = count
	}
	s.TopBy = cmp.Or(s.TopBy, other.TopBy)
	for _, one := range other.Top {
		s.AddScore(one)
	}
	if other.Reached != nil {
		sum := *other.Reached
		if s.Reached != nil {
			sum += *s.Reached
		}
		s.Reached = &sum
	}
}

// insert adds one to a list of the first few.
func insert[T any](list []T, one T, compare func(a, b T) int) []T {
	if n := len(list); n == firstFew && compare(list[n-1], one) <= 0 {
		return list
	}
	at, _ := slices.BinarySearchFunc(list, one, compare)
	list = slices.Insert(list, at, one)
	return list[:min(len(list), firstFew)]
}

// Values returns the parts of the summary, by name.
func (s *Summary) Values() map[string]any {
	values := map[string]any{}
	if s.Groups != nil {
		values[GroupsName] = s.Groups
	}
	if len(s.Top) > 0 {
		values[TopName] = s.Top
		if s.TopBy != "" {
			values[TopByName] = s.TopBy
		}
	}
	if s.Reached != nil {
		values[ReachedName] = *s.Reached
	}
	return values
}

// called returns the name of a vertex, in quotes, or its input id.
func called(id uint64, name string) string {
	if name != "" {
		return strconv.Quote(name)
	}
	return strconv.FormatUint(id, 10)
}

// summaryText returns a part of a summary as text for people, if name is a part's name.
func summaryText(name string, value json.RawMessage) (string, bool) {
	var parts []string
	switch name {
	case GroupsName:
		var g Groups
		if json.Unmarshal(value, &g) != nil || len(g.Largest) == 0 {
			return "", false
		}
		for _, one := range g.Largest {
			parts = append(parts, fmt.Sprintf("%s (%d)", called(one.Group, one.Name), one.Size))
		}
		return fmt.Sprintf("%d; the largest, with their sizes: %s", g.Count,
			strings.Join(parts, ", ")), true
	case TopName:
		var top []Scored
		if json.Unmarshal(value, &top) != nil || len(top) == 0 {
			return "", false
		}
		for _, one := range top {
			parts = append(parts, fmt.Sprintf("%s %s", called(one.Vertex, one.Name),
				strconv.FormatFloat(one.Score, 'g', 6, 64)))
		}
		return strings.Join(parts, ", "), true
	}
	return "", false
}
