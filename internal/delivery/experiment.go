package delivery

// Experiment has what is changed to measure it. Only the lab and tests set it.
type Experiment struct {
	// Encoding forces how columns name the vertices that are present.
	Encoding Encoding
	// Uncombined sends every pushed message by itself (Ueno13's naive delivery).
	Uncombined bool
	// Serial sends and receives columns one after the other, and none while edges are walked.
	Serial bool
}
