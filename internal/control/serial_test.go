package control

import "testing"

// TestCheckpointsToldAgain: a restarted master tells of a checkpoint that its predecessor has told
// of. It is passed on once. A later attempt may store a checkpoint before the same superstep.
func TestCheckpointsToldAgain(t *testing.T) {
	stored := func(epoch, superstep uint32) *JobEvent {
		s := &Stored{Superstep: superstep}
		return &JobEvent{Serial: s.Serial(epoch), Body: &JobEvent_Checkpoint{Checkpoint: s}}
	}
	line := &JobEvent{Serial: 1<<EpochBits | 1, Body: &JobEvent_Log{Log: &LogLine{Worker: "w"}}}
	told := Told{}
	for i, c := range []struct {
		e     *JobEvent
		again bool
	}{
		{stored(1, 4), false},
		{stored(1, 8), false},
		{line, false},
		{stored(1, 4), true},
		{stored(1, 8), true},
		{line, true},
		{stored(1, 12), false},
		{stored(2, 4), false},
	} {
		if found := told.Again(c.e); found != c.again {
			t.Errorf("event %d: found %v, expected %v", i, found, c.again)
		}
	}
}
