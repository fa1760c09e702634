package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/statefile"
)

// lookEvery is the shortest time between two checks for changed files.
const lookEvery = time.Second

// Files are a certificate, its key, and the trusted CAs. Changed files are read again.
type Files struct {
	Names // they do not change
	warn  func(line string)
	now   func() time.Time

	mu     sync.Mutex
	looked time.Time
	seen   [3]string // what loaded is from
	wrong  string    // the error in changed files
	loaded *loaded
}

// Names are the names of files. Without Cert and Key a process only verifies others, like a client
// with a token.
type Names struct{ Cert, Key, CA string }

// Given reports whether any name is set.
func (n Names) Given() bool { return n != Names{} }

// loaded is the content of the files.
type loaded struct {
	number      int              // number of times that files were read
	certificate *tls.Certificate // may be nil
	pool        *x509.CertPool
}

// Load reads files, and returns an error if they are invalid. If later changes are invalid, the
// earlier content stays valid, and warn, if not nil, gets a line.
func Load(n Names, warn func(line string)) (*Files, error) {
	if warn == nil {
		warn = func(string) {}
	}
	f := &Files{Names: n, warn: warn, now: time.Now}
	if err := n.check(); err != nil {
		return nil, err
	}
	var err error
	if f.seen, err = n.read(); err == nil {
		f.loaded, err = n.load(f.seen)
	}
	f.looked = f.now()
	return f, err
}

func (n Names) check() error {
	switch {
	case n.CA == "":
		return errors.New("TLS needs --tls-ca, the certificate of the CA that others' are from")
	case n.Cert == "" && n.Key != "":
		return errors.New("--tls-key is the key of --tls-cert, which is missing")
	case n.Cert != "" && n.Key == "":
		return errors.New("--tls-cert needs --tls-key, the certificate's key")
	}
	return nil
}

// read reads the CA, the certificate and its key; those without a name are empty.
func (n Names) read() (all [3]string, err error) {
	for i, path := range []string{n.CA, n.Cert, n.Key} {
		if path == "" {
			continue
		}
		data, err := statefile.ReadSmall(path)
		if err != nil {
			return all, err
		}
		all[i] = string(data)
	}
	return all, nil
}

// load parses what read has read.
func (n Names) load(all [3]string) (*loaded, error) {
	l := &loaded{pool: x509.NewCertPool()}
	authorities, err := parse(n.CA, []byte(all[0]))
	if err != nil {
		return nil, err
	}
	for _, c := range authorities {
		if !c.IsCA {
			return nil,
				fmt.Errorf("%s: found the certificate of %s, which is no CA", n.CA, nameOf(c))
		}
		l.pool.AddCert(c)
	}
	if n.Cert == "" {
		return l, nil
	}
	if _, err := parse(n.Cert, []byte(all[1])); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(all[1]), []byte(all[2]))
	if err != nil {
		return nil, fmt.Errorf("%s is not the key of %s: %w", n.Key, n.Cert, err)
	}
	l.certificate = &pair
	return l, nil
}

// current returns the files' content, or the last valid content.
func (f *Files) current() *loaded {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if now.Sub(f.looked) < lookEvery {
		return f.loaded
	}
	f.looked = now
	seen, err := f.read()
	if err == nil && f.wrong == "" && seen == f.seen {
		return f.loaded
	}
	var l *loaded
	if err == nil {
		l, err = f.load(seen)
	}
	if err != nil { // the files may be half written: the next check finds the rest
		if text := err.Error(); text != f.wrong {
			f.wrong = text
			f.warn("the changed TLS files are not used: " + text)
		}
		return f.loaded
	}
	f.warn("the TLS files have changed and are used from now on")
	l.number = f.loaded.number + 1
	f.seen, f.loaded, f.wrong = seen, l, ""
	return l
}

// Number changes when the files have changed.
func (f *Files) Number() int { return f.current().number }
