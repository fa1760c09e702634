//go:build unix

package mesh

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/transport"
)

// receiverEnv makes a process of the test binary the receiver of BenchmarkProcesses.
const receiverEnv = "SUPERSTEP_MESH_RECEIVER"

func init() {
	if os.Getenv(receiverEnv) != "" {
		instead = receive
	}
}

// receiverTask contains the receiver's options, sent by the sending process.
type receiverTask struct {
	TCP    bool
	TLS    *certs.Names
	Sender Peer
}

// options returns the options of a worker of BenchmarkProcesses.
func (r *receiverTask) options(name string, incarnation uint64) (Options, error) {
	o := Options{Name: name, Incarnation: incarnation, Token: token, TCP: r.TCP, Compress: CompressOff}
	if r.TLS != nil {
		files, err := certs.Load(*r.TLS, nil)
		if err != nil {
			return o, err
		}
		o.TLS = files
	}
	return o, nil
}

// receive receives frames until its standard input ends. Then it prints the processor time that it
// used, in nanoseconds.
func receive() error {
	in := json.NewDecoder(os.Stdin)
	var task receiverTask
	if err := in.Decode(&task); err != nil {
		return err
	}
	o, err := task.options("receiver", 2)
	if err != nil {
		return err
	}
	m, err := New(o)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := json.NewEncoder(os.Stdout).Encode(m.Self()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := m.Open(ctx, 1, 1, dealt([]Peer{task.Sender, m.Self()}, 2), nil)
	if err != nil {
		return err
	}
	defer s.Close()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for p := s.Port(1); ; {
		f, err := p.Receive(ctx, transport.Expand)
		if err != nil {
			break
		}
		p.Release(f)
	}
	used, err := usedTime()
	fmt.Println(used)
	return err
}

// usedTime returns the processor time that this process has used, in nanoseconds.
func usedTime() (int64, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano(), err
}

// BenchmarkProcesses sends frames of 1 MB to another process: over a Unix socket, as workers of one
// host do, and over TCP, plain and with TLS. It reports the processor time of both processes
// separately. The larger one limits the rate.
func BenchmarkProcesses(b *testing.B) {
	a := newAuthority(b)
	p, err := certs.Issue(a.dir, a.dir,
		certs.Request{Name: "w", Roles: certs.Worker, Hosts: []string{"127.0.0.1"}, Days: 5})
	if err != nil {
		b.Fatal(err)
	}
	files := &certs.Names{Cert: p.Cert, Key: p.Key, CA: a.dir + "/ca.pem"}
	for _, network := range []string{"unix", "tcp"} {
		for mode, names := range map[string]*certs.Names{"plain": nil, "tls": files} {
			b.Run(network+"/"+mode, func(b *testing.B) { toProcess(b, receiverTask{TCP: network == "tcp", TLS: names}) })
		}
	}
}

func toProcess(b *testing.B, task receiverTask) {
	o, err := task.options("sender", 1)
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	task.Sender = m.Self()
	c := exec.CommandContext(b.Context(), os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), receiverEnv+"=1"), os.Stderr
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err1 != nil || err2 != nil || c.Start() != nil {
		b.Fatal("the receiver does not start: ", err1, err2)
	}
	answers := bufio.NewReader(out)
	var peer Peer
	if err := json.NewEncoder(in).Encode(task); err != nil {
		b.Fatal(err)
	}
	line, err := answers.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &peer) != nil {
		b.Fatalf("the receiver says %q, %v", line, err)
	}
	s, err := m.Open(b.Context(), 1, 1, dealt([]Peer{m.Self(), peer}, 2), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const size = 1 << 20
	f, from := &transport.Frame{From: 0, To: 1, Raw: make([]byte, size)}, s.Port(0)
	b.SetBytes(size)
	before := processorTime(b)
	for b.Loop() {
		if err := from.Send(f); err != nil {
			b.Fatal(err)
		}
	}
	if err := from.drain(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "send-cpu-ns/op")
	_ = in.Close() // this ends the receiver
	var used float64
	if _, err := fmt.Fscan(answers, &used); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(used/float64(b.N), "receive-cpu-ns/op")
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
}
