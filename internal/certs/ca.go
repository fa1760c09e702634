package certs

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/statefile"
)

// Files in the directory of a CA.
const (
	caName    = "ca"
	certEnd   = ".pem"
	keyEnd    = "-key.pem"
	backdated = 5 * time.Minute // because clocks differ
)

// fileName matches names of files that have at most 64 bytes, the limit of X.509 for a holder.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// Paths are the names of the files of a certificate and its key.
type Paths struct{ Cert, Key string }

func pathsIn(dir, name string) Paths {
	return Paths{filepath.Join(dir, name+certEnd), filepath.Join(dir, name+keyEnd)}
}

// Init makes a CA in a directory: ca.pem, which is public, and ca-key.pem. It never overwrites a
// file.
func Init(dir string, days int) (Paths, error) {
	p := pathsIn(dir, caName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p, err
	}
	if err := p.absent(); err != nil {
		return p, err
	}
	serial := newSerial()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: fmt.Sprintf("superstep CA %x", serial.Bytes()[:4])},
		NotBefore:    time.Now().Add(-backdated), NotAfter: time.Now().AddDate(0, 0, days),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true,
		IsCA: true, MaxPathLenZero: true,
	}
	return p, p.write(template, template, nil)
}

// Request describes a certificate to issue.
type Request struct {
	Name  string // name of the holder, and of the files
	Roles Role
	Hosts []string // host names and addresses of the holder
	Days  int
}

// Issue makes a certificate and its key, NAME.pem and NAME-key.pem in the directory out, signed by
// the CA in the directory ca. It never overwrites a file.
func Issue(ca, out string, r Request) (Paths, error) {
	p := pathsIn(out, r.Name)
	if err := r.check(); err != nil {
		return p, err
	}
	authority := pathsIn(ca, caName)
	parent, signer, err := authority.read()
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("%w: superstep ca init %s makes a CA", err, ca)
	}
	if err != nil {
		return p, err
	}
	until := time.Now().AddDate(0, 0, r.Days)
	switch {
	case !parent.IsCA:
		return p, fmt.Errorf("%s: found a certificate that is no CA's", authority.Cert)
	case until.After(parent.NotAfter):
		return p, fmt.Errorf("--days %d: the CA itself ends on %s", r.Days, date(parent.NotAfter))
	}
	if err := p.absent(); err != nil {
		return p, err
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: r.Name}, URIs: r.Roles.uris(),
		NotBefore: time.Now().Add(-backdated), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	if template.NotBefore.Before(parent.NotBefore) {
		template.NotBefore = parent.NotBefore
	}
	for _, host := range r.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if r.Roles.Has(Worker | Client | Reader) {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if r.Roles.Has(Worker | Master) {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	return p, p.write(template, parent, signer)
}

// check returns an error for a name that cannot be a file's, and for a master without a host name,
// which clients could not verify.
func (r *Request) check() error {
	switch {
	case !fileName.MatchString(r.Name) || r.Name == caName || Reserved(r.Name):
		return fmt.Errorf("--name: found %.80q, expected 1 to 64 letters, digits, dots, - and _, and not %s, token, browser or anyone", r.Name, caName)
	case r.Roles == 0:
		return fmt.Errorf("a certificate needs a role: expected --role %s",
			strings.Join(roleNames[:], ", "))
	case r.Roles.Has(Master) && len(r.Hosts) == 0:
		return errors.New("a master's certificate needs --host, the names and addresses by which --master leads to it")
	}
	for _, host := range r.Hosts {
		if host == "" || strings.ContainsAny(host, " :/@,") && net.ParseIP(host) == nil {
			return fmt.Errorf(
				"--host: found %.80q, expected a name or an address, without a port", host)
		}
	}
	return nil
}

func newSerial() *big.Int {
	var b [16]byte
	rand.Read(b[:])         // never fails
	b[0] = b[0]&0x7f | 0x40 // positive, and always of the same length
	return new(big.Int).SetBytes(b[:])
}

// absent returns an error if a file exists.
func (p Paths) absent() error {
	for _, path := range []string{p.Cert, p.Key} {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s: %w, and is not overwritten", path, fs.ErrExist)
		}
	}
	return nil
}

// write makes a key, signs its certificate, by itself if signer is nil, and writes both files, or
// none.
func (p Paths) write(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	signer = cmp.Or(signer, key)
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := create(p.Key, "PRIVATE KEY", secret, 0o600); err != nil {
		return err
	}
	if err := create(p.Cert, "CERTIFICATE", cert, 0o644); err != nil {
		return errors.Join(err, os.Remove(p.Key))
	}
	return nil
}

func create(path, kind string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = pem.Encode(f, &pem.Block{Type: kind, Bytes: data})
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// read reads the files of a CA.
func (p Paths) read() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	all, err := ReadFile(p.Cert)
	if err != nil {
		return nil, nil, err
	}
	data, err := statefile.ReadSmall(p.Key)
	if err != nil {
		return nil, nil, err
	}
	var key any
	if block, _ := pem.Decode(data); block != nil {
		key, _ = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil,
			fmt.Errorf("%s: expected an ECDSA key, as superstep ca init makes it", p.Key)
	}
	if !private.PublicKey.Equal(all[0].PublicKey) {
		return nil, nil, fmt.Errorf("%s is not the key of %s", p.Key, p.Cert)
	}
	return all[0], private, nil
}

func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
