// Package master leads a cluster: it knows the workers, the graphs they hold and the jobs, has the workers run each job, whose supersteps
// the first of them drives, and tells clients of them.
//
// What it decides is decided in [cluster], a pure state machine: events and the time go in, effects come out. [Server] is
// the I/O around it: connections, clocks, files, and a goroutine for each job that runs.
//
//	worker --register, session--> Server --event--> cluster
//	client --submit, watch, ...-->    |  <-effect--    |
//	                                  +-- a job's run: commands to workers, and reports back
package master
