// Package faults injects failures: tests make a point in the code fail, or kill the process there.
// Points lie between two steps that a crash must not leave half done.
//
//	the code:  if err := faults.At(faults.Committing, name); err != nil { return err }
//	a test:    defer faults.Set(func(point, who string) error { ... })()
//
// Only tests set failures: the package is internal, and the code that reads the environment needs
// the build tag faults. A point costs one load while nothing is set.
package faults

import "sync/atomic"

// Points. The argument who is the name of the worker at the point, or empty.
const (
	StoringPart       = "checkpoint.part"      // a part is encoded, but not stored
	StoringManifest   = "checkpoint.manifest"  // all parts are stored
	StoredManifest    = "checkpoint.committed" // the checkpoint is valid, but nobody knows
	Renaming          = "store.rename"         // a file is written, but not renamed
	Committing        = "master.commit"        // a change of the master's state is not on the disk
	Committed         = "master.committed"     // it is on the disk, but has had no effect yet
	Commanded         = "worker.command"       // a worker got a command, but has not begun it
	Computing         = "worker.superstep"     // a worker has not begun a superstep
	Sending           = "worker.send"          // a frame is encoded, but not sent
	ReachedTheBarrier = "worker.barrier"       // a superstep is done, but not reported
)

var hook atomic.Pointer[func(point, who string) error]

// At is called at a point. It returns an error if the next step is to fail.
func At(point, who string) error {
	if f := hook.Load(); f != nil {
		return (*f)(point, who)
	}
	return nil
}

// Set makes all points call f, until reset is called. It is for tests.
func Set(f func(point, who string) error) (reset func()) {
	hook.Store(&f)
	return func() { hook.Store(nil) }
}
