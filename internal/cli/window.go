package cli

import "github.com/spf13/cobra"

// windowFlag is --window of workers.
type windowFlag struct{ text string }

func (w *windowFlag) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.text, "window", "auto", "allow `SIZE` of messages in flight from each other worker, such as 64MiB; auto: 16MiB, or the measured bandwidth times delay if that is more, up to 256MiB")
}

// bytes returns the window, 0 for auto.
func (w *windowFlag) bytes() (int64, error) {
	if w.text == "auto" {
		return 0, nil
	}
	n, err := parseBytes(w.text)
	if err != nil || n < 64<<10 || n > 1<<30 {
		return 0, usagef("--window: found %.40q, expected auto, or 64KiB to 1GiB", w.text)
	}
	return n, nil
}
