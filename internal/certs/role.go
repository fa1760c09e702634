// Package certs is about certificates: the roles in them, files that are read again when they
// change, what TLS needs of these, and a small CA. docs/design/security.md has the reasons.
package certs

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
)

// Role is what the holder of a certificate may be in a cluster; a set of them is one too.
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

// rolePrefix begins a certificate's URI name that says a role.
const rolePrefix = "superstep:role:"

// Has reports whether one of some roles is among these.
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

// ParseRole reads the name of one role.
func ParseRole(name string) (Role, error) {
	for i, known := range roleNames {
		if name == known {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("found role %.40q, expected %s", name, strings.Join(roleNames[:], ", "))
}

// uris are the URI names that say roles.
func (r Role) uris() []*url.URL {
	var all []*url.URL
	for i, name := range roleNames {
		if r.Has(1 << i) {
			all = append(all, &url.URL{Scheme: "superstep", Opaque: strings.TrimPrefix(rolePrefix, "superstep:") + name})
		}
	}
	return all
}

// RolesOf returns the roles that a certificate says. Names that say none are another's, or of a
// later version: they count for nothing.
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

// Reserved reports whether a name stands for callers without a certificate, and is nobody else's.
func Reserved(name string) bool { return name == "token" || name == "browser" || name == "anyone" }
