package graphio_test

import _ "github.com/superstep-go/superstep/drivers/parquet" // for all tests of this binary
