package engine_test

import (
	"testing"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

func TestAHaltedVertexIsSkipped(t *testing.T) {
	w := on(t, "0>1 2")
	w.expect(t, script{func(v talker, _ int64) {
		say(v, "%d", v.Superstep())
		if v.Label() != 1 || v.Superstep() == 2 {
			v.VoteToHalt()
		}
	}}, "0", "0 1 2", "0")
}

func TestAMessageWakesAHaltedVertexWhichMustVoteAgain(t *testing.T) {
	w := on(t, "0>1 2")
	w.expect(t, script{func(v talker, m int64) {
		say(v, "%d:%d", v.Superstep(), m)
		if v.Label() == 0 && v.Superstep() == 2 {
			v.SendToAllNeighbors(7)
		}
		if v.Label() == 0 && v.Superstep() < 2 || v.Label() == 1 && v.Superstep() == 3 {
			return
		}
		v.VoteToHalt()
	}}, "0:0 1:0 2:0", "0:0 3:7 4:0", "0:0")
}

func TestWokenTellsTheWokenFromTheAwake(t *testing.T) {
	w := on(t, "0>1 0>2 3")
	w.expect(t, script{func(v talker, _ int64) {
		if v.Superstep() > 0 {
			say(v, "woken %t, message %t", v.Woken(), v.HasMessage())
		}
		if v.Label() == 0 && v.Superstep() == 0 {
			v.SendToAllNeighbors(1)
		}
		if v.Superstep() == 1 || v.Label() < 2 {
			v.VoteToHalt()
		}
	}}, "", "woken true, message true", "woken false, message true", "woken false, message false")
}

func TestAnAwakeVertexWithoutMessageGetsTheIdentity(t *testing.T) {
	w := on(t, "0>1")
	w.expect(t, minimum{script{func(v talker, m int64) {
		if v.Superstep() == 1 {
			say(v, "%t %t", m == 1<<63-1, v.HasMessage())
			v.VoteToHalt()
		}
	}}}, "true false", "true false")
}

func TestTheIdentityIsAMessage(t *testing.T) {
	w := on(t, "0>1 2")
	for _, p := range []pregel.Program[string, int64]{
		script{func(v talker, m int64) { sendOnce(v, m, 0) }},
		minimum{script{func(v talker, m int64) { sendOnce(v, m, 1<<63-1) }}},
	} {
		o := w.expect(t, p, "", "true", "")
		w.expectSupersteps(t, o, 2, 1)
	}
}

// sendOnce sends m from vertex 0, and shows at the receiver whether it was received.
func sendOnce(v talker, got, m int64) {
	if v.Superstep() == 0 && v.Label() == 0 {
		v.SendToAllNeighbors(m)
	}
	if v.Superstep() > 0 {
		say(v, "%t", v.HasMessage() && v.Woken() && got == m)
	}
	v.VoteToHalt()
}

func TestTheRunEndsWhenAllHaveHaltedAndNoMessageIsUnderWay(t *testing.T) {
	w := on(t, "0>1 1>2 2>3 4")
	o := w.expect(t, script{func(v talker, m int64) {
		say(v, "%d", v.Superstep())
		if v.Superstep() == 0 && v.Label() == 0 || v.Superstep() > 0 {
			v.SendToAllNeighbors(1)
		}
		v.VoteToHalt()
	}}, "0", "0 1", "0 2", "0 3", "0")
	w.expectSupersteps(t, o, 4, 3)
}

func TestMessagesToFinishedVerticesDoNotKeepTheRun(t *testing.T) {
	w := on(t, "0>1 1>0")
	o := w.expect(t, script{func(v talker, _ int64) {
		say(v, "%d", v.Superstep())
		v.SendToAllNeighbors(1)
		v.Finish()
	}}, "0", "0")
	w.expectSupersteps(t, o, 1, 2)
}

// Vertex 2 is not finished, so only the delivery shows that nobody gets a message.
func TestEmptySuperstepsNeitherRunNorCount(t *testing.T) {
	w := on(t, "0>1 1>0 2")
	p := script{func(v talker, _ int64) {
		say(v, "%d", v.Superstep())
		v.SendToAllNeighbors(1)
		if v.VoteToHalt(); v.Label() < 2 {
			v.Finish()
		}
	}}
	o := w.expectWith(t, p, func(s *setting) {
		s.o.Progress = func(p bsp.Progress) {
			if p.Superstep != 0 {
				t.Errorf("%v: progress of superstep %d", s, p.Superstep)
			}
		}
	}, "0", "0", "0")
	w.expectSupersteps(t, o, 1, 2)
}

func TestFinishSendsWhatTheCallSent(t *testing.T) {
	w := on(t, "0>1 2")
	o := w.expect(t, script{func(v talker, m int64) {
		say(v, "%d:%d", v.Superstep(), m)
		if v.Superstep() == 0 && v.Label() == 0 {
			v.Finish()
			v.SendToAllNeighbors(3)
			v.Send(w.id(2), 4)
			return
		}
		v.VoteToHalt()
	}}, "0:0", "0:0 1:3", "0:0 1:4")
	w.expectSupersteps(t, o, 2, 2)
}

func TestMessagesToAFinishedVertexAreDropped(t *testing.T) {
	w := on(t, "0>1 1>0 2>0 3>3")
	w.expect(t, script{func(v talker, m int64) {
		say(v, "%d:%d", v.Superstep(), m)
		v.SendToAllNeighbors(1)
		v.Send(w.id(0), 10)
		if v.Label() == 0 && v.Superstep() == 1 {
			v.Finish()
		}
		if v.Superstep() == 3 {
			v.VoteToHalt()
			v.Finish()
		}
	}}, "0:0 1:42", "0:0 1:1 2:1 3:0", "0:0 1:0 2:0 3:0", "0:0 1:1 2:1 3:1")
}

func TestAVertexThatFinishedInInitNeverRunsAgain(t *testing.T) {
	w := on(t, "0-1 1-2")
	w.expect(t, play{script{func(v talker, m int64) {
		say(v, "%d", m)
		v.VoteToHalt()
	}}, func(v talker) {
		v.SendToAllNeighbors(1)
		if v.Label() == 1 {
			v.Finish()
		}
	}}, "1", "", "1")
}

func TestFinishWithoutVoteHalts(t *testing.T) {
	w := on(t, "0 1")
	o := w.expect(t, script{func(v talker, _ int64) {
		say(v, "%d", v.Superstep())
		v.Finish()
	}}, "0", "0")
	w.expectSupersteps(t, o, 1, 0)
}

func TestTheRunEndsAtTheLimitOfSupersteps(t *testing.T) {
	w := on(t, "0>1 1>0")
	limit := func(s *setting) { s.o.MaxSupersteps = 3 }
	o := w.expectWith(t, script{func(v talker, _ int64) { say(v, "%d", v.Superstep()) }}, limit,
		"0 1 2", "0 1 2")
	if o.Ended != trace.Limit || o.Supersteps != 3 {
		t.Fatalf("%+v", o)
	}
	o = w.expectWith(t, script{func(v talker, _ int64) {
		if say(v, "%d", v.Superstep()); v.Superstep() == 2 {
			v.VoteToHalt()
		}
	}}, limit, "0 1 2", "0 1 2")
	w.expectSupersteps(t, o, 3, 0) // just enough
}
