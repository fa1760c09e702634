package master

import (
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

func init() {
	register(kind{
		alone: true,
		asked: func(spec *jobspec.Spec) bool { return spec.Netbench != nil },
		check: resolve.CheckNetbench, shape: layout.Of,
	})
}
