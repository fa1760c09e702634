// Package history gathers the supersteps of runs into what people look at: a row for each superstep, totals by partition and
// by pair, a summary in words. The terminal, the API and the page show the same.
package history
