package trace

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// What lines of a run's begin and end begin with.
var (
	jobHead = fmt.Appendf(nil, `{"v":%d,"kind":"job",`, Version)
	endHead = fmt.Appendf(nil, `{"v":%d,"kind":"end",`, Version)
)

// appendJob writes the line of a run that begins, as json.Marshal would: a search of milliseconds begins as often as it has
// supersteps.
func appendJob(dst []byte, j *Job) []byte {
	dst = append(append(dst, jobHead...), `"job":`...)
	dst = appendText(dst, j.Job)
	dst = appendSome(dst, `,"program":`, j.Program)
	for i, key := range slices.Sorted(maps.Keys(j.Parameters)) {
		dst = append(dst, [...]string{`,"parameters":{`, `,`}[min(i, 1)]...)
		dst = append(appendText(dst, key), ':')
		dst = appendText(dst, j.Parameters[key])
	}
	if len(j.Parameters) > 0 {
		dst = append(dst, '}')
	}
	dst = appendSome(dst, `,"graph":`, j.Graph)
	dst = appendCount(dst, `,"vertices":`, j.Vertices)
	dst = appendCount(dst, `,"arcs":`, j.Arcs)
	if j.Partitions != 0 {
		dst = appendInt(dst, `,"partitions":`, j.Partitions)
	}
	if j.Threads != 0 {
		dst = appendInt(dst, `,"threads":`, j.Threads)
	}
	dst = appendSome(dst, `,"grid":`, j.Grid)
	dst = appendSome(dst, `,"delivery":`, j.Delivery)
	dst = append(dst, `,"began":"`...)
	dst = j.Began.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, "\"}\n"...)
}

// appendEnd writes the line of a run that has ended.
func appendEnd(dst []byte, e *End) []byte {
	dst = append(append(dst, endHead...), `"job":`...)
	dst = appendText(dst, e.Job)
	dst = append(dst, `,"outcome":`...)
	dst = appendText(dst, e.Outcome)
	dst = appendSome(dst, `,"error":`, e.Error)
	dst = appendInt(dst, `,"supersteps":`, e.Supersteps)
	dst = appendFloat(dst, `,"seconds":`, e.Seconds)
	return append(dst, "}\n"...)
}

// appendSome and appendCount leave out what is not known.
func appendSome(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendText(append(dst, key...), s)
}

func appendCount(dst []byte, key string, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, key...), n, 10)
}
