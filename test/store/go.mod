// What the stores are checked against: servers of S3 that superstep itself does not need. go test -C test/store ./...
module github.com/superstep-go/superstep/test/store

go 1.26.0

require (
	github.com/johannesboyne/gofakes3 v1.2.0
	github.com/superstep-go/superstep v0.0.0
)

require (
	github.com/ryszard/goskiplist v0.0.0-20150312221310-2dfbae5fcf46 // indirect
	github.com/spf13/afero v1.15.0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	go.shabbyrobe.org/gocovmerge v0.0.0-20230507111327-fa4f82cfbf4d // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.50.0 // indirect
)

replace github.com/superstep-go/superstep => ../..
