package trace

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// appendSuperstep writes a line for each partition of a superstep. It is what json.Marshal writes of a line, for a fraction of
// the time: supersteps are written in the middle of a run.
func appendSuperstep(dst []byte, s *Superstep) []byte {
	for i := range s.Partitions {
		dst = appendPartition(dst, s, &s.Partitions[i])
	}
	return dst
}

func appendPartition(dst []byte, s *Superstep, p *Partition) []byte {
	dst = append(dst, usual...)
	dst = append(dst, `"job":`...)
	dst = appendText(dst, s.Job)
	dst = appendInt(dst, `,"superstep":`, s.Superstep)
	if s.Phase != 0 {
		dst = appendInt(dst, `,"phase":`, s.Phase)
	}
	if s.Program != "" {
		dst = append(dst, `,"program":`...)
		dst = appendText(dst, s.Program)
	}
	dst = appendInt(dst, `,"partition":`, p.Partition)
	if p.Worker != "" {
		dst = append(dst, `,"worker":`...)
		dst = appendText(dst, p.Worker)
	}
	dst = append(dst, `,"scheme":`...)
	dst = appendText(dst, s.Scheme)
	dst = append(dst, `,"delivery":`...)
	dst = appendText(dst, s.Delivery)
	dst = appendInt(dst, `,"active":`, p.Computed)
	dst = appendInt(dst, `,"senders":`, p.Delivered)
	dst = appendInt(dst, `,"receivers":`, p.Receivers)
	dst = appendInt(dst, `,"edges":`, p.Walked)
	dst = appendInt(dst, `,"messages":`, p.Messages())
	dst = appendInt(dst, `,"messages_sent":`, p.Sent)
	if p.Requests != 0 {
		dst = appendInt(dst, `,"requests":`, p.Requests)
	}
	if s.Graph != nil {
		dst = strconv.AppendUint(append(dst, `,"graph":{"vertices":`...), s.Graph.Vertices, 10)
		dst = strconv.AppendUint(append(dst, `,"arcs":`...), s.Graph.Arcs, 10)
		dst = append(dst, '}')
	}
	dst = appendPeers(dst, p)
	t := &p.Times
	dst = appendFloat(dst, `,"seconds":{"expand":`, t.Expand)
	dst = appendFloat(dst, `,"traverse":`, t.Traverse)
	dst = appendFloat(dst, `,"fold":`, t.Fold)
	dst = appendFloat(dst, `,"compute":`, t.Compute)
	dst = appendFloat(dst, `,"wait":`, t.Wait)
	dst = appendFloat(dst, `,"total":`, t.Total)
	dst = append(dst, '}')
	if len(s.Predicted) > 0 {
		dst = append(dst, `,"predicted":{`...)
		for i, scheme := range slices.Sorted(maps.Keys(s.Predicted)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendText(dst, scheme)
			dst = appendFloat(dst, ":", s.Predicted[scheme])
		}
		dst = append(dst, '}')
	}
	if s.Actual != 0 {
		dst = appendFloat(dst, `,"actual":`, s.Actual)
	}
	dst = append(dst, `,"reason":`...)
	dst = appendText(dst, s.Reason)
	if p.Memory != 0 {
		dst = appendInt(dst, `,"memory":`, int(p.Memory))
	}
	dst = appendFloat(dst, `,"gc_pause":`, p.GCPause)
	return append(dst, "}\n"...)
}

func appendPeers(dst []byte, p *Partition) []byte {
	for i, q := range p.Peers {
		dst = append(dst, [...]string{`,"peers":[{"partition":`, `,{"partition":`}[min(i, 1)]...)
		dst = strconv.AppendInt(dst, int64(q.Partition), 10)
		dst = append(dst, `,"exchange":`...)
		dst = appendText(dst, q.Exchange)
		dst = append(dst, `,"encoding":`...)
		dst = appendText(dst, q.Encoding)
		dst = appendInt(dst, `,"messages":`, q.Messages)
		dst = appendInt(dst, `,"bytes":`, q.Bytes)
		dst = append(dst, '}')
	}
	if len(p.Peers) > 0 {
		dst = append(dst, ']')
	}
	for i, x := range p.Sums {
		dst = append(dst, [...]string{`,"sums":[{"exchange":`, `,{"exchange":`}[min(i, 1)]...)
		dst = appendText(dst, x.Exchange)
		dst = append(dst, `,"encoding":`...)
		dst = appendText(dst, x.Encoding)
		dst = appendInt(dst, `,"columns":`, x.Columns)
		dst = appendInt(dst, `,"messages":`, x.Messages)
		dst = appendInt(dst, `,"bytes":`, x.Bytes)
		dst = append(dst, '}')
	}
	if len(p.Sums) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

func appendInt(dst []byte, key string, x int) []byte {
	return strconv.AppendInt(append(dst, key...), int64(x), 10)
}

// appendFloat writes a number as json.Marshal does.
func appendFloat(dst []byte, key string, x float64) []byte {
	dst = append(dst, key...)
	if n := x * 1e9; n >= 0 && n < 1e15 {
		if whole := uint64(n + 0.5); float64(whole)/1e9 == x && (whole == 0 || whole >= 1000) {
			return appendNano(dst, whole)
		}
	}
	switch abs := math.Abs(x); {
	case math.IsInf(x, 0) || x != x:
		return append(dst, '0') // no number: a clock that went mad
	case x == 0 || abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, x, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 is e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// appendNano writes a number of billionths, below 10^15, as the shortest decimal: a number with so few digits has no
// shorter one that reads back the same. Times are whole nanoseconds, and this takes a tenth of what strconv does.
func appendNano(dst []byte, n uint64) []byte {
	dst = strconv.AppendUint(dst, n/1e9, 10)
	if n %= 1e9; n == 0 {
		return dst
	}
	var digits [10]byte
	digits[0] = '.'
	for i := 9; i > 0; i-- {
		digits[i] = '0' + byte(n%10)
		n /= 10
	}
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	return append(dst, digits[:end]...)
}

// appendText writes a string between quotes; what has more than plain text in it is left to json.Marshal.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c >= utf8.RuneSelf && !plain(s) {
			text, _ := json.Marshal(s) // of a string it does not fail
			return append(dst, text...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// plain reports whether a string with more than ASCII in it stands in JSON as it is.
func plain(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, c := range s {
		if c == '\u2028' || c == '\u2029' {
			return false
		}
	}
	return true
}
