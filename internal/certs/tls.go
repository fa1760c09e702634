package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Identity is who someone is by a certificate that was checked.
type Identity struct {
	Name  string
	Roles Role
}

// ErrNone is that someone has shown no certificate.
var ErrNone = errors.New("no certificate was shown")

// base is common to both sides. Without dynamic records long writes go in as few records as there
// can be.
func base(protocols []string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: protocols, DynamicRecordSizingDisabled: true, SessionTicketsDisabled: true}
}

// Server is for who accepts connections and speaks the protocols. It asks for a certificate;
// whether what is shown is good, [Files.Identify] says.
func (f *Files) Server(protocols ...string) *tls.Config {
	outer := base(protocols)
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := f.current()
		if now.certificate == nil {
			return nil, errors.New("there is no certificate: --tls-cert names one")
		}
		c := base(protocols)
		c.Certificates, c.ClientAuth, c.ClientCAs = []tls.Certificate{*now.certificate}, tls.RequestClientCert, now.pool
		return c, nil
	}
	return outer
}

// Client is for who connects to a host, which shows a certificate of the CA with the role. Without
// a host any name will do.
func (f *Files) Client(host string, role Role, protocols ...string) *tls.Config {
	now := f.current()
	c := base(protocols)
	// VerifyConnection does it, in our words
	c.RootCAs, c.ServerName, c.InsecureSkipVerify = now.pool, host, true
	c.VerifyConnection = func(s tls.ConnectionState) error {
		who, err := now.identify(s.PeerCertificates, x509.ExtKeyUsageServerAuth, time.Now())
		if err == nil {
			err = who.Need(role)
		}
		if err == nil && host != "" {
			if err = s.PeerCertificates[0].VerifyHostname(host); err != nil {
				err = fmt.Errorf("the certificate of %s: %w", who.Name, err)
			}
		}
		if err != nil {
			return &TrustError{err}
		}
		return nil
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if now.certificate == nil {
			return new(tls.Certificate), nil // none
		}
		return now.certificate, nil
	}
	return c
}

// TrustError says why who answers is not who is looked for.
type TrustError struct{ Err error }

func (e *TrustError) Error() string { return e.Err.Error() }
func (e *TrustError) Unwrap() error { return e.Err }

// Need is an error if an identity has none of some roles.
func (i Identity) Need(roles Role) error {
	if i.Roles.Has(roles) {
		return nil
	}
	return &RoleError{i, roles}
}

// RoleError says that the holder of a good certificate has not the role for something.
type RoleError struct {
	Identity
	Needed Role // any of these
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("the certificate of %s has the role %s: expected %s", e.Name, e.Roles, e.Needed)
}

// Checked is what is known of the certificate of a connection, which is checked once as long as
// files and time let it. The zero value knows nothing.
type Checked struct{ last atomic.Pointer[outcome] }

type outcome struct {
	by    *loaded
	until time.Time
	Identity
	err error
}

// Identify returns who has connected to this process, by the state of the connection. known may be
// nil.
func (f *Files) Identify(s *tls.ConnectionState, known *Checked) (Identity, error) {
	by, now := f.current(), f.now()
	if known != nil {
		if o := known.last.Load(); o != nil && o.by == by && now.Before(o.until) {
			return o.Identity, o.err
		}
	}
	who, err := by.identify(s.PeerCertificates, x509.ExtKeyUsageClientAuth, now)
	if known != nil {
		until := now.Add(time.Minute)
		if err == nil {
			for _, c := range s.PeerCertificates { // of these the chain is, and of the CA's
				if c.NotAfter.Before(until) {
					until = c.NotAfter
				}
			}
		}
		known.last.Store(&outcome{by, until, who, err})
	}
	return who, err
}

// identify checks a chain of certificates, the first of which is the holder's, who has proved to
// have its key.
func (l *loaded) identify(chain []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) (Identity, error) {
	if len(chain) == 0 {
		return Identity{}, ErrNone
	}
	c := chain[0]
	o := x509.VerifyOptions{Roots: l.pool, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{usage}, CurrentTime: now}
	for _, other := range chain[1:] {
		o.Intermediates.AddCert(other)
	}
	_, err := c.Verify(o)
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return Identity{nameOf(c), RolesOf(c)}, nil
	case now.After(c.NotAfter):
		return Identity{}, fmt.Errorf("the certificate of %s has expired, on %s", nameOf(c), date(c.NotAfter))
	case now.Before(c.NotBefore):
		return Identity{}, fmt.Errorf("the certificate of %s is not valid before %s", nameOf(c), date(c.NotBefore))
	case errors.As(err, &unknown):
		return Identity{}, fmt.Errorf("the certificate of %s is of another CA, %s", nameOf(c), printable(c.Issuer.CommonName))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return Identity{}, fmt.Errorf("the certificate of %s, with the role %s, is not for this: %w", nameOf(c), RolesOf(c), err)
	}
	return Identity{}, fmt.Errorf("the certificate of %s: %s", nameOf(c), printable(err.Error()))
}
