package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// quotaFields are the settings of a quota.
type quotaFields struct {
	Queued      int          `json:"queued" range:"1..1048576"`
	Running     int          `json:"running" range:"1..1048576"`
	Time        job.Duration `json:"time" range:"1ns.."`
	ResultBytes job.Size     `json:"result-bytes"`
}

const maxQuotaOwner = 256 // bytes of a name

// quotaForm describes the format of a quota.
const quotaForm = "[OWNER:]queued=N,running=N,time=TIME,result-bytes=SIZE, or some of these"

// quotasOf parses quotas, by owner. The entry "" applies to owners without their own.
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

// parseQuota parses a quota and its owner, "" for all owners without their own.
func parseQuota(text string) (owner string, q master.Quota, err error) {
	settings := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 { // values contain no colon
		owner, settings = text[:i], text[i+1:]
		if owner == "" || len(owner) > maxQuotaOwner || owner != strings.TrimSpace(owner) ||
			strings.ContainsFunc(owner, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return "", master.Quota{}, fmt.Errorf("expected the name of an owner before the colon")
		}
	}
	asked, seen := quotaFields{}, []string(nil)
	fields := job.Fields(&asked)
	for setting := range strings.SplitSeq(settings, ",") {
		key, value, ok := strings.Cut(setting, "=")
		i := slices.IndexFunc(fields, func(f job.Field) bool { return f.Key == key })
		switch {
		case !ok:
			err = fmt.Errorf("expected %s", quotaForm)
		case i < 0:
			err = fmt.Errorf("expected %s, and not %.40q", quotaForm, key)
		case slices.Contains(seen, key):
			err = fmt.Errorf("expected %s once", key)
		default:
			err = fieldFlag{fields[i]}.Set(value)
		}
		if err != nil {
			return "", master.Quota{}, err
		}
		seen = append(seen, key)
	}
	return owner, master.Quota{
		Queued: asked.Queued, Running: asked.Running,
		Time: time.Duration(asked.Time), ResultBytes: int64(asked.ResultBytes),
	}, nil
}
