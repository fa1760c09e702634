package pack

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/transport"
)

type sizedMessage struct {
	Name  string
	Seen  []uint32
	Rate  float64
	Share float32
	Tags  map[string]int
	Next  *sizedMessage
	Loud  bool
	Data  []byte
}

func checkSize[M any](t *testing.T, tolerance float64, messages ...M) {
	t.Helper()
	codec, size := codec[M](t), Sizer(reflect.TypeFor[M]())
	for i := range messages {
		b, err := codec.Append(nil, &transport.Frame{Count: 1, Ref: messages[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		got := size(reflect.ValueOf(messages).Index(i))
		want := len(b) - 1 // without the length of the frame's list
		if math.Abs(float64(got-want)) > tolerance*float64(want) {
			t.Errorf("%T %.80v: size %d, encoded %d", messages[i], messages[i], got, want)
		}
	}
}

// TestSizer compares estimated sizes with encoded messages.
func TestSizer(t *testing.T) {
	checkSize(t, 0, "", "a", strings.Repeat("x", 31), strings.Repeat("x", 32),
		strings.Repeat("x", 300), strings.Repeat("x", 70_000))
	checkSize(t, 0, []int{},
		[]int{0, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64})
	checkSize(t, 0,
		[]int{-1, -32, -33, -128, -129, -32768, -32769, math.MinInt32, math.MinInt32 - 1, math.MinInt64})
	checkSize(t, 0, []byte{}, make([]byte, 7), make([]byte, 255), make([]byte, 256),
		make([]byte, 65536))
	checkSize(t, 0, make([]string, 15), make([]string, 16), make([]string, 64))
	checkSize(t, 0,
		sizedMessage{Name: "n", Seen: []uint32{1, 1 << 20}, Tags: map[string]int{"a": 1, "b": 1000}, Next: &sizedMessage{Data: []byte("abc"), Seen: []uint32{}, Tags: map[string]int{}}, Data: []byte{1}})
	long := make([]uint64, 100_000)
	for i := range long {
		long[i] = uint64(i)
	}
	checkSize(t, 0.1, long)
}
