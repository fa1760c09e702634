package engine

// ModelAs makes the job choose as another does, whose rates were measured at another moment.
func (j *Job[V, M]) ModelAs(other *Job[V, M]) {
	j.coordinator.policy.Rates = other.coordinator.policy.Rates
}
