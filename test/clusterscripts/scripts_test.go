// Package clusterscripts runs the command line against masters and workers that are processes.
package clusterscripts

import (
	"testing"

	"github.com/superstep-go/superstep/test/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m, nil) }

// TestClusterScripts runs them all.
func TestClusterScripts(t *testing.T) { scripts.Run(t, "../..", "testdata/cluster") }
