package collective

import "math/rand/v2"

// Noise returns n bytes to measure with: no link can compress them.
func Noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // it never fails
	return data
}
