// Package parquet lets a program that imports it read and write tables of Parquet:
//
//	import _ "github.com/superstep-go/superstep/drivers/parquet"
package parquet

import (
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/graphio/parquet"
)

func init() {
	graphio.RegisterParquet(graphio.ParquetDriver{Open: parquet.Open, Create: parquet.Create})
}
