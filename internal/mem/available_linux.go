package mem

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Available returns the bytes of memory that the process can still get without swapping, or 0 if
// unknown. It is the system's available memory (MemAvailable), limited by the process's control
// groups.
func Available() int64 {
	groups, _ := os.ReadFile("/proc/self/cgroup") // if it fails: no limits of groups
	left := groupsLeft("/sys/fs/cgroup", string(groups))
	if system := kilobytes("/proc/meminfo", "MemAvailable:"); system > 0 {
		left = min(left, system)
	}
	if left == math.MaxInt64 {
		return 0
	}
	return left
}

// systemLimit returns the lowest memory limit of the process, and a description of the limit.
func systemLimit() (int64, string) {
	limit := kilobytes("/proc/meminfo", "MemTotal:")
	groups, _ := os.ReadFile("/proc/self/cgroup") // if it fails: no limits of groups
	n := groupsLimit("/sys/fs/cgroup", string(groups))
	if n < math.MaxInt64 && (limit == 0 || n < limit) {
		return n, "the control group's limit"
	}
	return limit, "the machine's memory"
}

// groupsLimit returns the lowest limit of the groups in /proc/self/cgroup and their ancestors.
func groupsLimit(root, groups string) int64 {
	least := int64(math.MaxInt64)
	eachGroup(root, groups, func(g group, path string) {
		if n, ok := number(filepath.Join(g.root, path, g.limit)); ok {
			least = min(least, n)
		}
	})
	return least
}

// groupsLeft returns the memory left below the limits of the groups in /proc/self/cgroup, which has
// lines "ID:CONTROLLERS:PATH", and of their ancestors. In a container the path may be the host's,
// with the files at the root.
func groupsLeft(root, groups string) int64 {
	left := int64(math.MaxInt64)
	eachGroup(root, groups, func(g group, path string) { left = min(left, g.left(path)) })
	return left
}

// eachGroup calls f for the memory groups of a process and their ancestors.
func eachGroup(root, groups string, f func(g group, path string)) {
	for line := range strings.Lines(groups) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		g := group{
			filepath.Join(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes",
			"total_inactive_file ",
		}
		switch {
		case id == "0" && controllers == "":
			g = group{root, "memory.max", "memory.current", "inactive_file "}
		case controllers != "memory":
			continue
		}
		for {
			f(g, path)
			if path == "/" || path == "." || path == "" {
				break
			}
			path = filepath.Dir(path)
		}
	}
}

// group has the file names of a version of control groups.
type group struct{ root, limit, usage, cache string }

// left returns the memory left below the limit of a group. Pages of files that were not used
// recently are reclaimable.
func (g group) left(path string) int64 {
	dir := filepath.Join(g.root, path)
	limit, limited := number(filepath.Join(dir, g.limit))
	usage, known := number(filepath.Join(dir, g.usage))
	if !limited || !known {
		return math.MaxInt64 // no limit, or no such group
	}
	usage -= field(filepath.Join(dir, "memory.stat"), g.cache)
	return max(limit-max(usage, 0), 1) // 0 would mean unknown
}

func number(file string) (int64, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}
