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

// Summary is what reports say of the values that a run ended with, beside its aggregators, under
// names of its own.
type Summary struct {
	Groups *Groups  `json:"groups,omitempty"`
	Top    []Scored `json:"top,omitempty"`    // of the highest scores, the highest first
	TopBy  string   `json:"top_by,omitempty"` // what the scores are, if the program says it
	// Reached is how many vertices a search has reached.
	Reached *int `json:"reached,omitempty"`
}

// The names of the parts of a summary among a run's aggregators.
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

// topByText begins the name that the highest scores have in texts, before what they are.
const topByText = "top by "

// Groups are those that vertices are in, such as components.
type Groups struct {
	Count   int     `json:"count"`
	Largest []Group `json:"largest"`
}

// Group is one that vertices are in; of a group that is named by a vertex, Group is its input id.
type Group struct {
	Group uint64 `json:"group"`
	Name  string `json:"name,omitempty"` // what the input calls that vertex, if it has names
	Size  int    `json:"size"`
}

// Scored is a vertex, by its input id, and its score.
type Scored struct {
	Vertex uint64  `json:"vertex"`
	Name   string  `json:"name,omitempty"` // what the input calls it, if it has names
	Score  float64 `json:"score"`
}

// firstFew is how many groups and vertices a summary names.
const firstFew = 10

// Add notes a group that no other call has.
func (g *Groups) Add(one Group) {
	g.Count++
	g.Largest = insert(g.Largest, one, func(a, b Group) int { return cmp.Or(b.Size-a.Size, cmp.Compare(a.Group, b.Group)) })
}

// Wants reports whether a vertex with a score may be among the first: not if it is no finite
// number.
func (s *Summary) Wants(score float64) bool {
	return !math.IsNaN(score) && !math.IsInf(score, 0) &&
		(len(s.Top) < firstFew || score >= s.Top[firstFew-1].Score)
}

// AddScore notes the score of a vertex that Wants wants.
func (s *Summary) AddScore(one Scored) {
	s.Top = insert(s.Top, one, func(a, b Scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Vertex, b.Vertex)) })
}

// Merge adds the summary of other vertices, and of other groups.
func (s *Summary) Merge(other *Summary) {
	if other.Groups != nil {
		if s.Groups == nil {
			s.Groups = new(Groups)
		}
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

// Values are the parts of the summary, by name.
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

// called is the name of a vertex, in quotes, or its input id.
func called(id uint64, name string) string {
	if name != "" {
		return strconv.Quote(name)
	}
	return strconv.FormatUint(id, 10)
}

// summaryText is a part of a summary for people, if the value is one.
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
