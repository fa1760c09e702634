package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Identity is the identity in a verified certificate.
type Identity struct {
	Name  string
	Roles Role
}

// ErrNone is the error for a peer without a certificate.
var ErrNone = errors.New("no certificate was shown")

// base is the common part of both sides' configuration. Without dynamic record sizing, long writes
// need fewer records.
func base(protocols []string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocols, DynamicRecordSizingDisabled: true,
		SessionTicketsDisabled: true,
	}
}

// Server returns the configuration of a server for the given protocols. It requests a certificate;
// [Files.Identify] verifies it.
func (f *Files) Server(protocols ...string) *tls.Config {
	outer := base(protocols)
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := f.current()
		if now.certificate == nil {
			return nil, errors.New("there is no certificate: --tls-cert names one")
		}
		c := base(protocols)
		c.Certificates, c.ClientAuth, c.ClientCAs = []tls.Certificate{*now.certificate},
			tls.RequestClientCert, now.pool
		return c, nil
	}
	return outer
}

// Client returns the configuration for a connection to a host. The host must have a certificate of
// the CA with the role. If host is empty, any name is accepted.
func (f *Files) Client(host string, role Role, protocols ...string) *tls.Config {
	now, c := f.current(), base(protocols)
	// VerifyConnection verifies, with our own errors
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

// TrustError means that the other side is not the expected one.
type TrustError struct{ Err error }

func (e *TrustError) Error() string { return e.Err.Error() }
func (e *TrustError) Unwrap() error { return e.Err }

// Need returns an error unless an identity has one of some roles.
func (i Identity) Need(roles Role) error {
	if i.Roles.Has(roles) {
		return nil
	}
	return &RoleError{i, roles}
}

// RoleError means that the holder of a valid certificate lacks the role for an operation.
type RoleError struct {
	Identity
	Needed Role // any of these
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("the certificate of %s has the role %s: expected %s", e.Name,
		e.Roles, e.Needed)
}

// Checked caches the verification of a connection's certificate, while files and time allow. The
// zero value is an empty cache.
type Checked struct{ last atomic.Pointer[outcome] }

type outcome struct {
	by    *loaded
	until time.Time
	Identity
	err error
}

// Identify verifies the client's certificate of a connection, and returns the client's identity.
// known may be nil.
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
			for _, c := range s.PeerCertificates { // includes the chain and the CA's certificates
				if c.NotAfter.Before(until) {
					until = c.NotAfter
				}
			}
		}
		known.last.Store(&outcome{by, until, who, err})
	}
	return who, err
}

// identify verifies a chain of certificates. The first certificate is that of the peer, which has
// proved to TLS that it has the key.
func (l *loaded) identify(
	chain []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time,
) (Identity, error) {
	if len(chain) == 0 {
		return Identity{}, ErrNone
	}
	c := chain[0]
	o := x509.VerifyOptions{
		Roots: l.pool, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{usage},
		CurrentTime: now,
	}
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
		err = fmt.Errorf("has expired, on %s", date(c.NotAfter))
	case now.Before(c.NotBefore):
		err = fmt.Errorf("is not valid before %s", date(c.NotBefore))
	case errors.As(err, &unknown):
		err = fmt.Errorf("is of another CA, %s", printable(c.Issuer.CommonName))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		err = fmt.Errorf("has the role %s, which is not for this: %w", RolesOf(c), err)
	default:
		err = fmt.Errorf("is refused: %s", printable(err.Error()))
	}
	return Identity{}, fmt.Errorf("the certificate of %s %w", nameOf(c), err)
}
