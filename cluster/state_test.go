package cluster_test

// the example's master keeps state
import _ "github.com/superstep-go/superstep/internal/statefile/statetest"
