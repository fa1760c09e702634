package control

// EpochBits are the bits of a serial below those of the attempt: serials of later ones are larger.
const EpochBits = 40

// Next is the serial that follows those of the report.
func (d *DriveReport) Next() uint64 {
	return d.GetSerial() + uint64(len(d.GetLog())+len(d.GetRecords())+len(d.GetStages()))
}

// Told has the last serial of a job's events that were told, by worker: "" is the one that drives
// the job.
type Told map[string]uint64

// Again notes that an event is told, and reports whether it was before.
func (t Told) Again(e *JobEvent) bool {
	by := e.GetLog().GetWorker()
	last := t[by]
	t[by] = max(last, e.Serial)
	return e.Serial > 0 && e.Serial <= last
}
