package beside

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// Machine describes the machine in a line, which is needed to interpret a table.
func Machine(threads int) string {
	read := func(file, line string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			return "unknown"
		}
		m := regexp.MustCompile(line).FindStringSubmatch(string(b))
		if m == nil {
			return "unknown"
		}
		return strings.TrimSpace(m[1])
	}
	return fmt.Sprintf("%s, %d processors, %d threads; memory %s; Linux %s; huge pages: %s; %s",
		read("/proc/cpuinfo", `(?m)^model name\s*:(.*)$`), runtime.NumCPU(), threads,
		read("/proc/meminfo", `(?m)^MemTotal:(.*)$`),
		read("/proc/sys/kernel/osrelease", `(.*)`),
		read("/sys/kernel/mm/transparent_hugepage/enabled", `\[(.*)\]`), runtime.Version())
}
