package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"

	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

// role is the environment variable that makes this binary a versitygw. It holds the address.
const role = "SUPERSTEP_TEST_VERSITYGW"

// listening is the line that a versitygw prints when it listens.
const listening = "versitygw is listening"

func TestMain(m *testing.M) {
	err := func() error {
		if address := os.Getenv(role); address != "" {
			return gateway(address, os.Args[1])
		}
		dir, err := os.MkdirTemp("", "superstep-store")
		if err == nil {
			superstep.program = dir + "/superstep"
			m.Run()
			err = os.RemoveAll(dir)
		}
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// gateway serves the files of a directory by S3, as the command versitygw does with its default
// options.
func gateway(address, dir string) error {
	backend, err := posix.New(dir, meta.XattrMeta{}, posix.PosixOpts{Concurrency: 5000})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), backend, &embedgw.Config{
		RootUserAccess: os.Getenv("AWS_ACCESS_KEY_ID"),
		RootUserSecret: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		Region:         os.Getenv("AWS_REGION"), Ports: []string{address},
		MaxConnections: 250_000, MaxRequests: 100_000, MultipartMaxParts: 10_000, Quiet: true,
		S3Options: []s3api.Option{s3api.WithOnListen(func() { fmt.Println(listening) })},
	})
}

// versitygw starts another S3 server with a bucket, in a process of its own. It sets the
// environment for it.
func versitygw(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), free(t)
	if err := os.Mkdir(dir+"/bucket", 0o777); err != nil {
		t.Fatal(err)
	}
	environment(t, "http://"+address)
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, dir)
	cmd.Env, cmd.Stderr = append(os.Environ(), role+"="+address), &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == listening {
			return
		}
	}
	_ = cmd.Wait()
	t.Fatalf("versitygw does not listen: %s", &said)
}

// TestVersitygw tests another server than TestInProcess.
func TestVersitygw(t *testing.T) {
	versitygw(t)
	n := 0
	storetest.Run(t, func(t *testing.T) store.Store {
		n++
		return open(t, fmt.Sprintf("s3://bucket/test/%d", n))
	})
	_, err := store.Get(t.Context(), open(t, "s3://nothing"), "x", 1)
	if !errors.Is(err, store.ErrNoBucket) {
		t.Errorf("found %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	_, err = store.Get(t.Context(), open(t, "s3://bucket"), "x", 1)
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("found %v", err)
	}
}
