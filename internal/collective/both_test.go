package collective

import (
	"context"
	"errors"
	"testing"
)

// TestBoth: the error of one function cancels the other, and is the result.
func TestBoth(t *testing.T) {
	broken, gone := errors.New("broken"), errors.New("gone")
	done := func(context.Context) error { return nil }
	fails := func(context.Context) error { return broken }
	waits := func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(gone)
	for name, c := range map[string]struct {
		ctx           context.Context
		first, second func(context.Context) error
		want          error
	}{
		"both return":       {t.Context(), done, done, nil},
		"first fails":       {t.Context(), fails, waits, broken},
		"second fails":      {t.Context(), waits, fails, broken},
		"caller ended":      {ended, waits, waits, gone},
		"one of them waits": {ended, done, waits, gone},
	} {
		if err := Both(c.ctx, c.first, c.second); !errors.Is(err, c.want) {
			t.Errorf("%s: found %v, expected %v", name, err, c.want)
		}
	}
}
