// Package s3 is a driver: a program that imports it may use s3://BUCKET/NAME wherever superstep
// takes the name of a file or a directory. Package command imports it.
//
//	import _ "github.com/superstep-go/superstep/drivers/s3"
//
//	superstep.Load("s3://...") --> internal/store --> this driver --> S3
//
// The environment has the credentials (AWS_ACCESS_KEY_ID and others). The code is in
// internal/store/s3. The example needs a bucket, so it is compiled but does not run.
package s3

import (
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/s3"
)

func init() { store.Register(store.S3, s3.Open) }
