package master

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// A segment of the log of a job:
//
//	"joblog 2 N\n"  what it is, the version of the form, and how many bytes the segment before has
//	records         length (uvarint), CRC-32C (4 bytes, big-endian), and an event (control.JobEvent) of so many bytes
const (
	logHeader = "joblog 2 %d\n"
	maxLogged = 32 << 10 // bytes of an event
)

// said is a line of the master's in the log of a job.
func said(text string) *control.JobEvent {
	return &control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{Worker: "master", Text: text}}}
}

// encodeLogged makes a record of an event. What a job's state has beside what is shown of it may be large, and is left out.
func encodeLogged(e *control.JobEvent) []byte {
	if j := e.GetJob(); j != nil {
		e = &control.JobEvent{Sequence: e.Sequence, Time: e.Time, Body: &control.JobEvent_Job{Job: &control.Job{
			Id: j.Id, State: j.State, Reason: shortened(j.Reason), Epoch: j.Epoch, Workers: j.Workers, Owner: j.Owner,
		}}}
	} else if len(e.GetLog().GetText()) > maxLogged/2 {
		e = proto.CloneOf(e)
		e.GetLog().Text = shortened(e.GetLog().Text)
	}
	data, err := proto.Marshal(e)
	if err != nil || len(data) > maxLogged { // its texts were checked where they came from
		data, _ = proto.Marshal(said("a line is missing here: it was too long"))
	}
	record := binary.AppendUvarint(make([]byte, 0, len(data)+binary.MaxVarintLen32+4), uint64(len(data)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(data, castagnoli))
	return append(record, data...)
}

// shortened bounds a text of a record.
func shortened(text string) string {
	if len(text) <= maxLogged/2 {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogged/2], "") + " ..."
}

// decodeLog reads the records of a segment, up to where it is damaged or cut off: then it is not
// whole. before is how many bytes the segment before has.
func decodeLog(data []byte) (events []*control.JobEvent, before int, whole bool) {
	head, data, ok := bytes.Cut(data, []byte("\n"))
	if _, err := fmt.Sscanf(string(head)+"\n", logHeader, &before); err != nil || !ok {
		return nil, 0, false
	}
	for len(data) > 0 {
		n, used := binary.Uvarint(data)
		if used <= 0 || n > maxLogged || uint64(len(data)-used) < 4+n {
			return events, before, false
		}
		body := data[used+4:][:n]
		e := &control.JobEvent{}
		if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(data[used:]) || proto.Unmarshal(body, e) != nil || e.GetLog() == nil && e.GetJob() == nil {
			return events, before, false
		}
		events, data = append(events, e), data[used+4+int(n):]
	}
	return events, before, true
}
