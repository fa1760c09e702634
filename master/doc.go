// Package master is the master of a cluster: it knows the workers, their graphs and the jobs,
// places and starts each job, and answers clients. The first worker of a job drives its supersteps.
//
// The state machine [cluster] makes all decisions: events and the time go in, effects come out. It
// does no I/O. [server] does: connections, clocks, files, and a goroutine for each running job.
//
//	worker --register, session--> Server --event--> cluster
//	client --submit, watch, ...-->    |  <-effect--    |
//	                                  +-- a job's run: commands to workers, and reports back
//
// [Run] implements the command superstep master; [Options] are its flags. Read cluster.go first,
// then server.go, and run.go for the life of a job. The example starts a master and two workers in
// one process and runs a program on them.
package master
