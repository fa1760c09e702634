package cluster_test

// the master of the example needs a driver for its state
import _ "github.com/superstep-go/superstep/internal/statefile/statetest"
