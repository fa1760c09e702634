package control

// FirstSerial is the first serial of an attempt of a job: serials of later attempts are larger.
func FirstSerial(epoch uint32) uint64 { return uint64(epoch)<<40 | 1 }

// Next is the serial that follows those of the report.
func (d *DriveReport) Next() uint64 {
	return d.GetSerial() + uint64(len(d.GetLog())+len(d.GetRecords())+len(d.GetStages()))
}

// Told knows which events of a job were told. The zero value knows of none.
type Told struct {
	last map[string]uint64 // serial, by worker; "" is the one that drives the job
}

// Again notes that an event is told, and reports whether it was before.
func (t *Told) Again(e *JobEvent) bool {
	by := e.GetLog().GetWorker()
	switch {
	case e.Serial == 0:
		return false
	case e.Serial <= t.last[by]:
		return true
	case t.last == nil:
		t.last = map[string]uint64{}
	}
	t.last[by] = e.Serial
	return false
}
