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
func Available() int64 { return least("MemAvailable:", group.left) }

// systemLimit returns the lowest memory limit of the process, or 0 if unknown.
func systemLimit() int64 { return least("MemTotal:", group.most) }

// least returns the least of a figure of the system in /proc/meminfo and of the process's control
// groups, or 0 if they are unknown.
func least(name string, of func(g group, path string) int64) int64 {
	groups, _ := os.ReadFile("/proc/self/cgroup") // if it fails: no limits of groups
	n := leastOf("/sys/fs/cgroup", string(groups), of)
	if system := kilobytes("/proc/meminfo", name); system > 0 {
		n = min(n, system)
	}
	if n == math.MaxInt64 {
		return 0
	}
	return n
}

// leastOf returns the least figure of the memory groups in /proc/self/cgroup, which has lines
// "ID:CONTROLLERS:PATH", and of their ancestors. In a container the path may be the host's, with
// the files at the root.
func leastOf(root, groups string, of func(g group, path string) int64) int64 {
	n := int64(math.MaxInt64)
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
			n = min(n, of(g, path))
			if path == "/" || path == "." || path == "" {
				break
			}
			path = filepath.Dir(path)
		}
	}
	return n
}

// group has the file names of a version of control groups.
type group struct{ root, limit, usage, cache string }

// most returns the limit of a group.
func (g group) most(path string) int64 {
	if n, ok := number(filepath.Join(g.root, path, g.limit)); ok {
		return n
	}
	return math.MaxInt64
}

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
