package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/master"
)

// quotasFlag is --quota, which may be given again: [OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE.
type quotasFlag struct {
	texts []string
	all   map[string]master.Quota // by owner; "" has that of who has none of their own
}

// Bounds of what a quota says.
const (
	maxQuotaJobs  = 1 << 20
	maxQuotaOwner = 256 // bytes of a name
)

// quotaForm is what a quota looks like.
const quotaForm = "[OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE, or some of these"

func (f *quotasFlag) define(cmd *cobra.Command) {
	cmd.Flags().Var(f, "quota", "limit each owner of jobs, or one OWNER, by a `QUOTA`: [OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE, or some of these; may be repeated (default: no limits)")
	nothing(cmd, "quota")
}

func (f *quotasFlag) String() string { return strings.Join(f.texts, " ") }

// Type ends as those of flags do of which a configuration file may have a list.
func (f *quotasFlag) Type() string { return "quotaArray" }

func (f *quotasFlag) Set(text string) error { return f.Append(text) }

func (f *quotasFlag) GetSlice() []string { return f.texts }

func (f *quotasFlag) Replace(texts []string) error {
	f.texts, f.all = nil, nil
	for _, text := range texts {
		if err := f.Append(text); err != nil {
			return err
		}
	}
	return nil
}

func (f *quotasFlag) Append(text string) error {
	owner, q, err := parseQuota(text)
	if err != nil {
		return err
	}
	if _, twice := f.all[owner]; twice && owner == "" {
		return fmt.Errorf("expected one quota without an owner, and there is one already")
	} else if twice {
		return fmt.Errorf("expected one quota for %s, and there is one already", owner)
	}
	if f.all == nil {
		f.all = map[string]master.Quota{}
	}
	f.texts, f.all[owner] = append(f.texts, text), q
	return nil
}

// words returns the flags as a command line has them.
func (f *quotasFlag) words() (all []string) {
	for _, text := range f.texts {
		all = append(all, "--quota", text)
	}
	return all
}

// parseQuota reads a quota, and whose it is: "" for all who have none of their own.
func parseQuota(text string) (owner string, q master.Quota, err error) {
	settings := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 { // no value has one
		owner, settings = text[:i], text[i+1:]
		if owner == "" || len(owner) > maxQuotaOwner || owner != strings.TrimSpace(owner) || strings.ContainsFunc(owner, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return "", master.Quota{}, fmt.Errorf("expected the name of an owner before the colon")
		}
	}
	var seen []string
	for setting := range strings.SplitSeq(settings, ",") {
		key, value, ok := strings.Cut(setting, "=")
		if !ok {
			return "", master.Quota{}, fmt.Errorf("expected %s", quotaForm)
		}
		if slices.Contains(seen, key) {
			return "", master.Quota{}, fmt.Errorf("expected %s once", key)
		}
		seen = append(seen, key)
		switch key {
		case "queued":
			q.Queued, err = jobsOfQuota(key, value)
		case "running":
			q.Running, err = jobsOfQuota(key, value)
		case "time":
			if q.Time, err = time.ParseDuration(value); err != nil || q.Time <= 0 {
				err = fmt.Errorf("expected a time, such as time=2h")
			}
		case "result-bytes":
			if q.ResultBytes, err = parseBytes(value); err != nil || value == "" {
				err = fmt.Errorf("expected a number of bytes, such as result-bytes=500MB")
			}
		default:
			err = fmt.Errorf("expected %s, and not %.40q", quotaForm, key)
		}
		if err != nil {
			return "", master.Quota{}, err
		}
	}
	return owner, q, nil
}

func jobsOfQuota(key, text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n < 1 || n > maxQuotaJobs {
		return 0, fmt.Errorf("expected a number of jobs, 1 to %d: %s=5", maxQuotaJobs, key)
	}
	return int(n), nil
}
