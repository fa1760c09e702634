package cli

func (j *runJob) check() error { return nil }
