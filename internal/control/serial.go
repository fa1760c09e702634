package control

// EpochBits is the number of bits of a serial below the attempt's number, so that later attempts
// have larger serials.
const EpochBits = 40

// Next returns the serial after those of the report.
func (d *DriveReport) Next() uint64 {
	return d.GetSerial() + uint64(len(d.GetLog())+len(d.GetRecords())+len(d.GetStages()))
}

// Serial returns the serial of the event of a checkpoint.
func (c *Stored) Serial(epoch uint32) uint64 {
	return uint64(epoch)<<EpochBits | uint64(c.GetSuperstep())
}

// Told has the last serial of a job's events that were passed on, by worker. The key "" is the
// worker that drives the job, the key checkpoints has the serials of checkpoints.
type Told map[string]uint64

const checkpoints = "/checkpoints" // no worker has such a name

// Again notes that an event is passed on, and reports whether it was before.
func (t Told) Again(e *JobEvent) bool {
	by := e.GetLog().GetWorker()
	if e.GetCheckpoint() != nil {
		by = checkpoints
	}
	last := t[by]
	t[by] = max(last, e.Serial)
	return e.Serial > 0 && e.Serial <= last
}
