package control

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/statefile"
)

// A master that only this machine can reach, without a given token and TLS, has its own token in a
// file that only its user can read. The user's other processes find it by the master's address:
//
//	STATE/superstep/tokens  0700        STATE is $XDG_STATE_HOME or ~/.local/state
//	  localhost-7700        0600        64 hexadecimal digits
//	  localhost-7700.held   0600        locked as long as a process holds the token: see HoldOwn

// ownSize is the number of random bytes of such a token.
const ownSize = 32

// OwnFile returns the file of the token of the user's master at HOST:PORT, or "" if other machines
// can reach the address.
func OwnFile(address string) (string, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil || !Loopback(address) {
		return "", nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", fmt.Errorf("found the port %q, expected a number", text)
	}
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
	}
	if host == "127.0.0.1" {
		host = "localhost" // Connect makes sure that both are the same
	}
	dir, err := statefile.PrivateDir("tokens")
	return filepath.Join(dir, fmt.Sprintf("%s-%d", host, port)), err
}

// ownToken reads the token of the user's master at an address with read, [statefile.Key] or
// [statefile.ReadKey].
func ownToken(address string, read func(file string, size int) ([]byte, error)) (Token, error) {
	file, err := OwnFile(address)
	if err != nil || file == "" {
		return Token{}, err
	}
	dir := filepath.Dir(file)
	unheld, _ := fs.Glob(os.DirFS(dir), "*"+held)
	for _, name := range unheld {
		removeToken(filepath.Join(dir, strings.TrimSuffix(name, held)), true)
	}
	key, err := read(file, ownSize)
	if err != nil {
		return Token{}, err
	}
	return Token{hex.EncodeToString(key), true}, nil
}

// findToken returns the token of the user's master at an address, if there is one.
func findToken(address string) (Token, error) {
	t, err := ownToken(address, statefile.ReadKey)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return t, err
}

// Complete fills in the user's own token for a master at an address, or its worker, without token
// and TLS. It makes the token if necessary. It fails if other machines can reach the address.
func (c *Credentials) Complete(address string) (err error) {
	if c.Token.Given() || c.TLS != nil {
		return nil
	}
	if c.Token, err = ownToken(address, statefile.Key); err != nil {
		return fmt.Errorf("the token for %s: %w; --token-file names another", address, err)
	}
	if !c.Token.Given() {
		return fmt.Errorf("others reach the master's address %q: give --token-file, or "+
			"--tls-cert, --tls-key and --tls-ca", address)
	}
	return nil
}

// ForgetOwn removes the token of this user's master at an address that will not be used again.
func ForgetOwn(address string) {
	if file, err := OwnFile(address); err == nil && file != "" {
		removeToken(file, false)
	}
}

// held is the suffix of a file that a process holds locked while it uses the token.
const held = ".held"

// HoldOwn ties the token of this user's master at an address to this process. After the end of the
// process, or a Close of f, the next process that makes or looks for a token removes it.
func HoldOwn(address string) (f *os.File) {
	if file, err := OwnFile(address); err == nil && file != "" {
		_ = statefile.Locked(file, func() (err error) { // on failure the token stays
			f, err = statefile.Lock(file + held)
			return err
		})
	}
	return f
}

// removeToken removes a token and its other files, unless a process holds it. A sweep skips a token
// without a .held file: another process has just made it and does not hold it yet.
func removeToken(file string, sweep bool) {
	_ = statefile.Locked(file, func() error {
		_, unheld := os.Stat(file + held)
		if _, gone := os.Stat(file); sweep && unheld != nil && gone == nil {
			return nil
		}
		f, err := statefile.Lock(file + held)
		if err != nil {
			return err
		}
		return errors.Join(f.Close(), os.Remove(file), os.Remove(file+held),
			os.Remove(file+".lock"))
	})
}

// RandomToken makes a token for a server that only this machine can reach.
func RandomToken() Token {
	key := make([]byte, ownSize)
	_, _ = rand.Read(key) // never fails
	return Token{hex.EncodeToString(key), true}
}

// Own reports whether superstep made the token for a server that only this machine can reach.
func (t Token) Own() bool { return t.own }

// GossipKey derives the key of gossip if none is given.
func (t Token) GossipKey() ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(t.text), nil, "superstep gossip", 32)
}
