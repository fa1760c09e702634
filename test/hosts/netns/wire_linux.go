package netns

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Line transfers frames between two TAP devices in both directions, with the properties of a Wire.
type Line struct {
	Wire
	taps  [2]*os.File
	group sync.WaitGroup
	bytes atomic.Int64 // carried in both directions
}

// sized is a frame in flight with its arrival time.
type sized struct {
	data []byte
	due  time.Time
}

// Open makes two TAP devices with these names, and the wire between them.
func (o Wire) Open(one, other string) (*Line, error) {
	if o.Queue == 0 {
		o.Queue = 1 << 20
	}
	w := &Line{Wire: o}
	for i, name := range []string{one, other} {
		tap, err := openTAP(name)
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("device %s: %w", name, err)
		}
		w.taps[i] = tap
	}
	for i := range w.taps {
		random := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		line := make(chan sized, 1<<16)
		w.group.Go(func() { w.read(w.taps[i], line, random) })
		w.group.Go(func() { w.write(w.taps[1-i], line) })
	}
	return w, nil
}

func openTAP(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// read puts frames on the line, except those that are lost or exceed the queue.
func (w *Line) read(tap *os.File, line chan<- sized, random *rand.Rand) {
	defer close(line)
	buffer := make([]byte, 64<<10)
	var free time.Time // when the line has sent everything
	for {
		n, err := tap.Read(buffer)
		if err != nil {
			return
		}
		if w.Loss > 0 && random.Float64() < w.Loss {
			continue
		}
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		if w.Rate > 0 {
			waiting := int(free.Sub(now).Seconds() * float64(w.Rate))
			if waiting+n > w.Queue {
				continue
			}
			free = free.Add(time.Duration(float64(n) / float64(w.Rate) * 1e9))
		}
		select {
		case line <- sized{append([]byte(nil), buffer[:n]...), free.Add(w.Delay)}:
			w.bytes.Add(int64(n))
		default:
		}
	}
}

func (w *Line) write(tap *os.File, line <-chan sized) {
	for f := range line {
		if wait := time.Until(f.due); wait > 0 {
			<-time.After(wait) // Until would need more of the processor, which the workers share
		}
		_, _ = tap.Write(f.data) // lost if the device is down
	}
}

// Carried returns the number of bytes that the wire has carried in both directions, including
// Ethernet headers.
func (w *Line) Carried() int64 { return w.bytes.Load() }

// Close removes the devices.
func (w *Line) Close() {
	for _, tap := range w.taps {
		if tap != nil {
			tap.Close()
		}
	}
	w.group.Wait()
}
