package pregel

// Plan says which programs run before the program whose method Plan returns it. Package plan makes plans; the zero value is an
// empty one.
type Plan struct{ steps any }
