// Package master leads a cluster: it knows the workers, the graphs they hold and the jobs, drives each job superstep by
// superstep, and tells clients of them.
//
// What it decides is decided in [cluster], a pure state machine: events and the time go in, effects come out. [Server] is
// the I/O around it: connections, clocks, files, and a goroutine for each job that runs.
//
//	worker --register, session--> Server --event--> cluster
//	client --submit, watch, ...-->    |  <-effect--    |
//	                                  +-- a job's run: commands to workers, reports back, the next superstep
package master
