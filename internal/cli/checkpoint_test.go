package cli

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/checkpoint"
)

// TestWhenOverBefore: a resumed run keeps those checkpoint settings that are not given again.
func TestWhenOverBefore(t *testing.T) {
	before := checkpoint.Policy{Every: 10, MTBF: time.Hour, Strict: true}
	for _, c := range []struct {
		flag string
		want checkpoint.Policy
	}{
		{"--mtbf=30m", checkpoint.Policy{Every: 10, MTBF: 30 * time.Minute, Strict: true}},
		{"--checkpoint-every=5", checkpoint.Policy{Every: 5, MTBF: time.Hour, Strict: true}},
		{"--checkpoint-every=5s", checkpoint.Policy{
			Interval: 5 * time.Second, MTBF: time.Hour, Strict: true,
		}},
		{"--checkpoint-strict=false", checkpoint.Policy{Every: 10, MTBF: time.Hour}},
	} {
		var f whenFlags
		cmd := &cobra.Command{}
		if flagsOf(cmd, &f); cmd.ParseFlags([]string{c.flag}) != nil {
			t.Fatalf("%s is refused", c.flag)
		}
		if found := f.over(&before, cmd.Flags()); *found != c.want {
			t.Errorf("%s: found %+v, expected %+v", c.flag, *found, c.want)
		}
	}
}
