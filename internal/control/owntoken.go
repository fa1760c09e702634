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

// A master of one machine that was given neither a token nor TLS has a token of its own, in a file
// that only its user can read. Processes of that user find it by the master's address:
//
//	STATE/superstep/tokens  0700        STATE is $XDG_STATE_HOME or ~/.local/state
//	  localhost-7700        0600        64 hexadecimal digits
//	  localhost-7700.held   0600        locked as long as a process holds the token: see HoldOwn

// ownSize is how many random bytes such a token has.
const ownSize = 32

// OwnFile returns where the token of the master at HOST:PORT is kept; nowhere if others can reach
// it.
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
		host = "localhost" // which is nothing else, see Connect
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
	removeUnheld(filepath.Dir(file))
	key, err := read(file, ownSize)
	if err != nil {
		return Token{}, err
	}
	return Token{hex.EncodeToString(key), true}, nil
}

// findToken is the token of the user's master at an address, if there is one.
func findToken(address string) (Token, error) {
	t, err := ownToken(address, statefile.ReadKey)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return t, err
}

// Complete gives a master at an address, or a worker of it, that has neither token nor TLS the
// token of its user. It makes the token if there is none. If others can reach the address, that is
// an error.
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

// ForgetOwn removes the token of this user's master at an address at which there will be no other.
func ForgetOwn(address string) {
	if file, err := OwnFile(address); err == nil && file != "" {
		removeToken(file, false)
	}
}

// held ends the name of a file that a process has locked while it holds the token beside it.
const held = ".held"

// HoldOwn has the token of this user's master at an address end with this process: after that, or
// after a Close, the next process that makes or looks for a token removes it.
func HoldOwn(address string) (f *os.File) {
	if file, err := OwnFile(address); err == nil && file != "" {
		_ = statefile.Locked(file, func() (err error) { // else it stays
			f, err = statefile.Lock(file + held)
			return err
		})
	}
	return f
}

func removeUnheld(dir string) {
	names, _ := fs.Glob(os.DirFS(dir), "*"+held)
	for _, name := range names {
		removeToken(filepath.Join(dir, strings.TrimSuffix(name, held)), true)
	}
}

// removeToken removes a token and the files beside it, unless a process holds it. A sweep keeps a
// token without a file that it was held: another process has just made it, and does not hold it yet.
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

// RandomToken makes a token for what listens on this machine alone.
func RandomToken() Token {
	key := make([]byte, ownSize)
	_, _ = rand.Read(key) // it never fails
	return Token{hex.EncodeToString(key), true}
}

// Own reports whether nobody gave the token: it was made for what listens on this machine alone.
func (t Token) Own() bool { return t.own }

// GossipKey is the key of gossip where none is given.
func (t Token) GossipKey() ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(t.text), nil, "superstep gossip", 32)
}
