package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/superstep-go/superstep"
)

// readWords returns the lower-case words of a number of letters, sorted and without duplicates.
func readWords(name string, r io.Reader, letters int) ([]string, error) {
	var words []string
	scanner := bufio.NewScanner(r)
	line := 1
	for ; scanner.Scan(); line++ {
		word := strings.TrimSpace(scanner.Text())
		if !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsSpace) {
			return nil, fmt.Errorf("%s:%d: found %.60q, expected one word in UTF-8", name, line,
				word)
		}
		if utf8.RuneCountInString(word) == letters && !strings.ContainsFunc(word, notSmall) {
			words = append(words, word)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	slices.Sort(words)
	return slices.Compact(words), nil
}

func notSmall(r rune) bool { return !unicode.IsLower(r) }

// join returns an edge for every two words that differ in one letter. With that letter replaced by
// a question mark they are equal. join also returns a loop for every word, so that the graph has a
// vertex for a word without neighbours. The graph drops the loop itself.
func join(words []string) []superstep.Edge {
	var list []superstep.Edge
	like := map[string][]uint64{}
	for i, word := range words {
		list = append(list, superstep.Edge{From: uint64(i), To: uint64(i)})
		for at, letter := range word {
			open := word[:at] + "?" + word[at+utf8.RuneLen(letter):]
			for _, other := range like[open] {
				list = append(list, superstep.Edge{From: other, To: uint64(i)})
			}
			like[open] = append(like[open], uint64(i))
		}
	}
	return list
}
