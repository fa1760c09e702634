package mesh

// Add adds the counters of another mesh.
func (s *Stats) Add(o Stats) {
	s.FramesOut += o.FramesOut
	s.FramesIn += o.FramesIn
	s.MessagesOut += o.MessagesOut
	s.MessagesIn += o.MessagesIn
	s.BytesOut += o.BytesOut
	s.BytesIn += o.BytesIn
	s.CompressedFrom += o.CompressedFrom
	s.CompressedTo += o.CompressedTo
	s.StaleJob += o.StaleJob
	s.StaleSuperstep += o.StaleSuperstep
	s.StaleIncarnation += o.StaleIncarnation
	s.Misrouted += o.Misrouted
	s.Garbage += o.Garbage
	s.WrongVersion += o.WrongVersion
	s.WrongToken += o.WrongToken
	s.WrongCertificate += o.WrongCertificate
	s.Fenced += o.Fenced
	s.Corrupt += o.Corrupt
	s.Broken += o.Broken
}
