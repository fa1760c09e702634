// Package faults has points in the code at which tests make it fail, or have the process end:
// between two steps that must not be parted.
//
//	the code:  if err := faults.At(faults.Committing, name); err != nil { return err }
//	a test:    defer faults.Set(func(point, who string) error { ... })()
//
// Nobody sets anything outside of tests: the package is internal, and what reads the environment is
// built with -tags faults alone. While nothing is set a point costs one load.
package faults

import "sync/atomic"

// Points. Who comes to one is a worker's name, or is not known.
const (
	StoringPart       = "checkpoint.part"      // a part is encoded, and not stored
	StoringManifest   = "checkpoint.manifest"  // all parts are stored
	StoredManifest    = "checkpoint.committed" // the checkpoint counts, and nobody knows
	Renaming          = "store.rename"         // a file is written, and has not its name
	Committing        = "master.commit"        // a change of the master's state is not on the disk
	Committed         = "master.committed"     // it is, and nothing was done of what it means
	Commanded         = "worker.command"       // a worker has a command, and has not begun
	Computing         = "worker.superstep"     // it has not begun a superstep
	Sending           = "worker.send"          // a frame is made, and not sent
	ReachedTheBarrier = "worker.barrier"       // a superstep is over, and was not reported
)

var hook atomic.Pointer[func(point, who string) error]

// At is a point. It returns an error if the step that follows is to fail.
func At(point, who string) error {
	if f := hook.Load(); f != nil {
		return (*f)(point, who)
	}
	return nil
}

// Set has all points ask f, until reset is called. It is for tests.
func Set(f func(point, who string) error) (reset func()) {
	hook.Store(&f)
	return func() { hook.Store(nil) }
}
