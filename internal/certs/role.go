// Package certs has all about certificates: the roles in them, files that are read again when they
// change, TLS configurations, and a small CA. docs/design/security.md has the reasons. Read role.go
// first, then tls.go.
package certs

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Role is a set of roles that the holder of a certificate has in a cluster.
type Role uint8

// Roles.
const (
	Worker Role = 1 << iota
	Client
	Reader
	Master
	Operator
)

// roleNames are in the order of the bits.
var roleNames = [...]string{"worker", "client", "reader", "master", "operator"}

// rolePrefix is the prefix of a certificate's URI that names a role.
const rolePrefix = "superstep:role:"

// Has reports whether any of the given roles is in r.
func (r Role) Has(any Role) bool { return r&any != 0 }

// String lists the roles, separated by commas.
func (r Role) String() string {
	var all []string
	for i, name := range roleNames {
		if r.Has(1 << i) {
			all = append(all, name)
		}
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, ",")
}

// ParseRole parses the name of one role.
func ParseRole(name string) (Role, error) {
	if i := slices.Index(roleNames[:], name); i >= 0 {
		return 1 << i, nil
	}
	return 0, fmt.Errorf("found role %.40q, expected %s", name, strings.Join(roleNames[:], ", "))
}

// uris returns the URIs of roles.
func (r Role) uris() []*url.URL {
	var all []*url.URL
	for i, name := range roleNames {
		if r.Has(1 << i) {
			all = append(all, &url.URL{Scheme: "superstep", Opaque: "role:" + name})
		}
	}
	return all
}

// RolesOf returns the roles in a certificate. It ignores other URIs, which may be from a later
// version.
func RolesOf(c *x509.Certificate) Role {
	var all Role
	for _, u := range c.URIs {
		if name, ok := strings.CutPrefix(u.String(), rolePrefix); ok {
			if role, err := ParseRole(name); err == nil {
				all |= role
			}
		}
	}
	return all
}

// Reserved reports whether a name is reserved for callers without a certificate.
func Reserved(name string) bool { return name == "token" || name == "browser" || name == "anyone" }
