package cluster_test

import _ "github.com/superstep-go/superstep/internal/statefile/statetest" // the example's master keeps state
