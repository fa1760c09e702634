package mem

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Available returns the memory the process can still have without swapping, in bytes, or 0 if
// unknown: what the system can give (MemAvailable), and no more than is left below the limits of
// the process's control groups.
func Available() int64 {
	system := field("/proc/meminfo", "MemAvailable:")
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return system
	}
	left := groupsLeft("/sys/fs/cgroup", string(groups))
	if system == 0 && left == math.MaxInt64 {
		return 0
	}
	if system == 0 {
		return left
	}
	return min(system, left)
}

// systemLimit returns the least limit there is for the memory of the process, and whose it is.
func systemLimit() (int64, string) {
	limit, from := field("/proc/meminfo", "MemTotal:"), "the machine's memory"
	if groups, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		if n := groupsLimit("/sys/fs/cgroup", string(groups)); n < math.MaxInt64 &&
			(limit == 0 || n < limit) {
			return n, "the control group's limit"
		}
	}
	return limit, from
}

// groupsLimit returns the least limit of the groups of /proc/self/cgroup and those above them.
func groupsLimit(root, groups string) int64 {
	least := int64(math.MaxInt64)
	eachGroup(root, groups, func(g group, path string) {
		if n, ok := number(filepath.Join(g.root, path, g.limit)); ok {
			least = min(least, n)
		}
	})
	return least
}

// groupsLeft returns the memory left below the limits of the groups of /proc/self/cgroup, in lines
// "ID:CONTROLLERS:PATH", and of those above them. In a container the path may be the host's, and
// the files those at the root.
func groupsLeft(root, groups string) int64 {
	left := int64(math.MaxInt64)
	eachGroup(root, groups, func(g group, path string) { left = min(left, g.left(path)) })
	return left
}

// eachGroup calls f for the groups of memory of a process, and for those above them.
func eachGroup(root, groups string, f func(g group, path string)) {
	for line := range strings.Lines(groups) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		g := group{filepath.Join(root,
			"memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "}
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

// group is where a version of control groups keeps what it knows of memory.
type group struct{ root, limit, usage, cache string }

// left returns what is left below the limit of a group. Pages of files that were not used of late
// can be had back.
func (g group) left(path string) int64 {
	dir := filepath.Join(g.root, path)
	limit, ok := number(filepath.Join(dir, g.limit))
	if !ok {
		return math.MaxInt64 // none, or no such group
	}
	usage, ok := number(filepath.Join(dir, g.usage))
	if !ok {
		return math.MaxInt64
	}
	if stat, err := os.ReadFile(filepath.Join(dir, "memory.stat")); err == nil {
		for line := range strings.Lines(string(stat)) {
			if text, ok := strings.CutPrefix(line, g.cache); ok {
				cache, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
				usage -= cache
			}
		}
	}
	return max(limit-max(usage, 0), 1) // 0 would be "unknown"
}

func number(file string) (int64, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}
