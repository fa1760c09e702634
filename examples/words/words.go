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

// readWords reads the words of so many letters, all small, in order and each once.
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

// join makes an edge of every two words that differ in one letter: with that letter left open, they
// look the same. Every word has a loop too, which the graph drops: it names words that have no
// neighbour.
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
