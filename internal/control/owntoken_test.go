package control

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// TestOwnTokens: a master without secrets creates a token that only its user can read. Other
// spellings of the address give the same token, other addresses another one.
func TestOwnTokens(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	of := func(address string) Token {
		t.Helper()
		var who Credentials
		if err := who.Complete(address); err != nil || !who.Token.Own() ||
			len(who.Token.Secret()) != 64 {
			t.Fatalf("%s: found %d digits, %v", address, len(who.Token.Secret()), err)
		}
		return who.Token
	}
	if found, err := findToken("127.0.0.1:7700"); err != nil || found.Given() {
		t.Errorf("before there is one: %v, %v", found, err)
	}
	first := of("127.0.0.1:7700")
	for _, same := range []string{"localhost:7700", "127.0.0.1:07700"} {
		if of(same) != first {
			t.Errorf("%s has another token", same)
		}
		if found, err := findToken(same); err != nil || found != first {
			t.Errorf("%s: found %v, %v", same, found, err)
		}
	}
	for _, other := range []string{"127.0.0.1:7701", "127.0.0.2:7700", "[::1]:7700"} {
		if of(other) == first {
			t.Errorf("%s has the same token", other)
		}
	}
	key, err := first.GossipKey()
	if again, _ := first.GossipKey(); err != nil || len(key) != 32 || !bytes.Equal(key, again) ||
		strings.Contains(first.Secret(), string(key)) {
		t.Errorf("found the gossip keys %x and %x, %v", key, again, err)
	}
	for address, want := range map[string]string{
		"10.0.0.1:7700": "others reach", "master.example:7700": "others reach",
		"7700":           "others reach",
		"127.0.0.1:../x": "expected a number", "127.0.0.1:65536": "expected a number",
	} {
		if err := new(Credentials).Complete(address); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, expected %s", address, err, want)
		}
	}
	given := Credentials{Token: rightToken}
	if err := given.Complete("127.0.0.1:7700"); err != nil || given.Token != rightToken {
		t.Errorf("a token that is given became %v, %v", given.Token, err)
	}

	if runtime.GOOS == "windows" {
		return // files have no permissions here
	}
	dir := filepath.Join(state, "superstep", "tokens")
	file := filepath.Join(dir, "localhost-7700")
	for path, want := range map[string]os.FileMode{dir: 0o700, file: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: found mode %v, %v", path, info.Mode(), err)
		}
	}
	refused := func(what, want string) {
		t.Helper()
		_, err := findToken("127.0.0.1:7700")
		made := new(Credentials).Complete("127.0.0.1:7700")
		for _, err := range []error{err, made} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, expected %s", what, err, want)
			}
		}
	}
	modes := func(path string, bad, good os.FileMode) {
		t.Helper()
		check(t, os.Chmod(path, bad))
		refused(path, "open to others")
		check(t, os.Chmod(path, good))
	}
	modes(file, 0o644, 0o600)
	modes(file, 0o640, 0o600)
	modes(dir, 0o750, 0o700)
	modes(filepath.Dir(dir), 0o777, 0o700)
	if os.Geteuid() == 0 {
		check(t, os.Chown(file, 12345, 12345))
		refused("a file of another user", "as its owner")
		check(t, os.Chown(file, 0, 0))
	}
	check(t, os.Rename(file, file+"-elsewhere"))
	check(t, os.Symlink(file+"-elsewhere", file))
	refused("a link", "regular file")
}

// TestHeldTokens: a token held by a process stays as long as the process lives. Another token stays
// until it is forgotten. The files of a killed process, and remains of a removal, are removed when
// another process searches for a token.
func TestHeldTokens(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	dir := filepath.Join(state, "superstep", "tokens")
	find := func(want ...string) {
		t.Helper()
		_, err := findToken("127.0.0.1:1")
		check(t, err)
		entries, err := os.ReadDir(dir)
		check(t, err)
		var found []string
		for _, e := range entries {
			found = append(found, e.Name())
		}
		if !slices.Equal(found, want) {
			t.Errorf("found %q, expected %q", found, want)
		}
	}
	file := HoldOwn("127.0.0.1:7701")
	for _, address := range []string{"127.0.0.1:7700", "127.0.0.1:7701"} {
		check(t, new(Credentials).Complete(address))
	}
	stays := []string{"localhost-7700", "localhost-7700.lock"}
	find(append(stays, "localhost-7701", "localhost-7701.held", "localhost-7701.lock")...)
	check(t, file.Close())
	find(stays...)
	check(t, new(Credentials).Complete("127.0.0.1:7701"))
	ForgetOwn("127.0.0.1:7701")
	find(stays...)
	for _, name := range []string{"killed", "killed.held", "killed.lock", "removing.held"} {
		check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	find(stays...)
}

// TestATokenOfAnotherSweep: another sweep has already removed the lock of a dead process's token.
// Then this sweep keeps the token, which may belong to a new master. If the token is gone, too, the
// sweep leaves no file.
func TestATokenOfAnotherSweep(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	check(t, new(Credentials).Complete("127.0.0.1:7701"))
	file, err := OwnFile("127.0.0.1:7701")
	check(t, err)
	removeToken(file, true)
	for path, there := range map[string]bool{file: true, file + held: false} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: error %v, expected it to be there: %t", path, err, there)
		}
	}
	ForgetOwn("127.0.0.1:7701")
	removeToken(file, true)
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
		t.Errorf("of a token that is gone found %v left, %v", left, err)
	}
}

// TestLocalhostIsOneAddress: localhost means 127.0.0.1, where masters listen. At ::1 another user
// might listen and relay the calls.
func TestLocalhostIsOneAddress(t *testing.T) {
	called := make(chan string, 1)
	c, err := Connect("localhost:7700", Credentials{Token: rightToken},
		func(_ context.Context, _, address string) (net.Conn, error) {
			called <- address
			return nil, errors.New("enough")
		})
	check(t, err)
	defer c.Close()
	if err := c.prove(t.Context()); err == nil {
		t.Error("a proof without a master")
	}
	if found := <-called; found != "127.0.0.1:7700" {
		t.Errorf("%s was called", found)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestCallsFindTheTokenOfTheUser: a connection without secrets uses the token of the user's own
// master. A connection of another user does not reach this master. A process that listens at a
// master's port does not learn the token.
func TestCallsFindTheTokenOfTheUser(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	call := func(address string) error {
		t.Helper()
		c, err := Connect(address, Credentials{}, nil)
		check(t, err)
		defer c.Close()
		_, err = c.Workers.Register(t.Context(), &RegisterRequest{})
		return err
	}
	master := Token{text: strings.Repeat("ab", ownSize), own: true}
	address, refused, seen := proving(t, master)
	file, err := OwnFile(address)
	check(t, err)
	if err := call(address); connect.CodeOf(err) != connect.CodeUnauthenticated || *refused != 1 {
		t.Errorf("without a token: %v, %d refused", err, *refused)
	}
	check(t, os.WriteFile(file, []byte(master.text+"\n"), 0o600))
	if err := call(address); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("of the same user: %v", err)
	}
	check(t, os.WriteFile(file, []byte(strings.Repeat("cd", ownSize)+"\n"), 0o600))
	if err := call(address); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("with another master's token: %v", err)
	}
	if text := seen(); strings.Contains(text, master.text) || strings.Contains(text, "Bearer") {
		t.Errorf("the token was sent:\n%s", text)
	}
}
