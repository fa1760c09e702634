// Package s3 lets a program that imports it read and write s3://BUCKET/NAME wherever superstep takes the name of a file or a directory:
//
//	import _ "github.com/superstep-go/superstep/drivers/s3"
package s3

import (
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/s3"
)

func init() { store.Register(store.S3, s3.Open) }
