package certs

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/statefile"
)

// ReadFile reads the certificates in a file. There must be at least one.
func ReadFile(path string) ([]*x509.Certificate, error) {
	data, err := statefile.ReadSmall(path)
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

func parse(path string, data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("%s: found %.40q, expected CERTIFICATE", path, block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, c)
	}
	if all == nil {
		return nil, fmt.Errorf("%s: found no certificate (-----BEGIN CERTIFICATE-----)", path)
	}
	return all, nil
}

// nameOf returns the name of a certificate's holder for logs.
func nameOf(c *x509.Certificate) string {
	if name := printable(c.Subject.CommonName); name != "" {
		return name
	}
	return "(no name)"
}

// printable returns text from a certificate in a printable form.
func printable(s string) string { return escape.Text(s, 128) }
