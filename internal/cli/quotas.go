package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/superstep-go/superstep/master"
)

// Bounds of what a quota says.
const (
	maxQuotaJobs  = 1 << 20
	maxQuotaOwner = 256 // bytes of a name
)

// quotaForm is what a quota looks like.
const quotaForm = "[OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE, or some of these"

// quotasOf reads quotas, by owner; "" has that of who has none of their own.
func quotasOf(texts []string) (map[string]master.Quota, error) {
	all := map[string]master.Quota{}
	for _, text := range texts {
		owner, q, err := parseQuota(text)
		if _, twice := all[owner]; twice && err == nil {
			err = fmt.Errorf("expected one quota for %s, and there is one already",
				cmp.Or(owner, "all others"))
		}
		if err != nil {
			return nil, usagef("--quota: found %q, %w", text, err)
		}
		all[owner] = q
	}
	return all, nil
}

// parseQuota reads a quota, and whose it is: "" for all who have none of their own.
func parseQuota(text string) (owner string, q master.Quota, err error) {
	settings := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 { // no value has one
		owner, settings = text[:i], text[i+1:]
		if owner == "" || len(owner) > maxQuotaOwner || owner != strings.TrimSpace(owner) ||
			strings.ContainsFunc(owner, func(r rune) bool { return !unicode.IsPrint(r) }) {
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
