package job

import "fmt"

// Word reads the word of a key; an empty one is the zero value. Errors begin with the key.
func Word[T any](key, word string, parse func(string) (T, error)) (value T, err error) {
	if word != "" {
		if value, err = parse(word); err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
	}
	return value, err
}
