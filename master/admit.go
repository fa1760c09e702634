package master

import (
	"slices"

	"github.com/superstep-go/superstep/internal/control"
)

// mostNames is how many of the workers one certificate has at most.
const mostNames = maxWorkers / 2

// makeRoom makes room for a worker's name among so many, of one certificate or of all: that of the
// one goes which has been gone for longest.
func (c *cluster) makeRoom(by string, most int) bool {
	var oldest *worker
	found := 0
	for _, w := range c.workers {
		if by != "" && w.by != by {
			continue
		}
		if found++; !w.live() && (oldest == nil || w.heard < oldest.heard) {
			oldest = w
		}
	}
	if found < most {
		return true
	}
	if oldest != nil {
		c.floor = max(c.floor, oldest.incarnation)
		delete(c.workers, oldest.name)
	}
	return oldest != nil
}

// mostOfWord bounds what a worker says of itself, in bytes.
const mostOfWord = 256

// acceptable refuses what can be no worker of this cluster, whoever has its name.
func (c *cluster) acceptable(r *control.RegisterRequest) error {
	if r.Protocol != control.Protocol {
		return control.Refuse(control.Refusal_KIND_VERSION,
			"worker %s speaks version %d of the control protocol (superstep %s), this master version %d",
			r.Name, r.Protocol, r.Version, control.Protocol)
	}
	if !control.ValidName(r.Name) {
		return control.Refuse(control.Refusal_KIND_INVALID,
			"found the worker's name %.150q, expected %s", r.Name, control.NameRule)
	}
	if n := max(len(r.Version), len(r.Instance), len(r.DataAddress),
		len(r.HttpAddress)); n > mostOfWord {
		return control.Refuse(control.Refusal_KIND_INVALID,
			"worker %s: found a version or an address of %d bytes, expected at most %d", r.Name, n,
			mostOfWord)
	}
	if r.Site != "" && !control.ValidName(r.Site) {
		return control.Refuse(control.Refusal_KIND_INVALID,
			"worker %s: found the site %.150q, expected %s", r.Name, r.Site, control.NameRule)
	}
	for _, p := range c.programs {
		i := slices.IndexFunc(r.Programs, func(q *control.Program) bool { return q.Name == p.Name })
		switch {
		case i < 0:
			return control.Refuse(control.Refusal_KIND_PROGRAMS,
				"the binary of worker %s has no program %s: start the same binary as the master's",
				r.Name, p.Name)
		case r.Programs[i].Fingerprint != p.Fingerprint:
			return control.Refuse(control.Refusal_KIND_PROGRAMS,
				"the binary of worker %s has another version of program %s (%.12s, the master's %.12s): start the same binary as the master's",
				r.Name, p.Name, r.Programs[i].Fingerprint, p.Fingerprint)
		}
	}
	return nil
}
