// Package clusterscripts runs the command line against masters and workers in separate processes.
// The scripts are in testdata/cluster.
package clusterscripts

import (
	"testing"

	"github.com/superstep-go/superstep/test/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m, nil) }

func TestClusterScripts(t *testing.T) { scripts.Run(t, "../..", "testdata/cluster") }
