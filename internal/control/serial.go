package control

// EpochBits is the number of bits of a serial below the attempt's number, so that later attempts
// have larger serials.
const EpochBits = 40

// Next returns the serial after those of the report.
func (d *DriveReport) Next() uint64 {
	return d.GetSerial() + uint64(len(d.GetLog())+len(d.GetRecords())+len(d.GetStages()))
}

// Told has the last serial of a job's events that were passed on, by worker. The key "" is the
// worker that drives the job.
type Told map[string]uint64

// Again notes that an event is passed on, and reports whether it was before.
func (t Told) Again(e *JobEvent) bool {
	by := e.GetLog().GetWorker()
	last := t[by]
	t[by] = max(last, e.Serial)
	return e.Serial > 0 && e.Serial <= last
}
