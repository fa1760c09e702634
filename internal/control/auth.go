package control

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/statefile"
)

// Credentials are a process's own secrets and its means to check others. A server without
// credentials accepts nobody. A client without credentials calls a master on this machine with the
// user's own token.
type Credentials struct {
	Token Token
	// TLS has the certificates; nil means no TLS.
	TLS *certs.Files
	// InsecureToken allows sending the token unencrypted to and from other machines.
	InsecureToken bool
}

// Token is a secret shared by all processes of a cluster. The zero value means no token, and allows
// nobody.
type Token struct {
	text string
	own  bool // made by superstep for this machine only
}

// minToken is the minimum length of a token, because shorter ones can be guessed.
const minToken = 16

// ReadToken reads a token from a file with one line. Without a name it returns no token.
func ReadToken(file string) (Token, error) {
	if file == "" {
		return Token{}, nil
	}
	data, err := statefile.ReadSmall(file)
	if err != nil {
		return Token{}, err
	}
	line, rest, _ := strings.Cut(string(data), "\n")
	if strings.TrimSpace(rest) != "" {
		return Token{}, fmt.Errorf("%s: found more than one line, expected the token alone", file)
	}
	return NewToken(strings.TrimSpace(line), file)
}

// NewToken makes a token from a text; where is its origin, for errors.
func NewToken(text, where string) (Token, error) {
	if len(text) < minToken {
		return Token{}, fmt.Errorf("%s: found a token of %d characters, expected %d or more "+
			"(openssl rand -hex 32 makes one)", where, len(text), minToken)
	}
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return Token{},
				fmt.Errorf("%s: a token has printable ASCII characters alone, and no blanks", where)
		}
	}
	return Token{text: text}, nil
}

// Given reports whether there is a token.
func (t Token) Given() bool { return t.text != "" }

// Secret returns the token itself, or "" if there is none.
func (t Token) Secret() string { return t.text }

// String keeps the secret out of logs.
func (t Token) String() string {
	if t.Given() {
		return "(token)"
	}
	return "(no token)"
}

// GoString is String, for %#v.
func (t Token) GoString() string { return t.String() }

// Allows reports whether the headers of a request contain the token or a proof of it. Its time does
// not depend on how much of the token is right.
func (t Token) Allows(h http.Header) bool {
	if !t.Given() {
		return false
	}
	if _, _, ok := t.proved(h.Get("Authorization"), time.Now()); ok {
		return true
	}
	given := sha256.Sum256([]byte(strings.TrimPrefix(h.Get("Authorization"), "Bearer ")))
	right := sha256.Sum256([]byte(t.text))
	return subtle.ConstantTimeCompare(given[:], right[:]) == 1
}

// signed sends calls with a proof of the token.
type signed struct{ *Connection }

// RoundTrip sends a call. One that is not a stream may use the proof of an earlier call. If that is
// refused, because another master leads now, the call is repeated with a new proof.
func (s signed) RoundTrip(r *http.Request) (*http.Response, error) {
	last := s.proved.Load()
	again := last != nil && time.Since(*last) < challengeHolds/2 &&
		r.Header.Get("Content-Type") == "application/proto"
	for r = r.Clone(r.Context()); ; again = false {
		if again {
			s.renew()
		} else if err := s.prove(r.Context()); err != nil {
			_ = r.Body.Close()
			return nil, err
		}
		s.sign(r.Header)
		answer, err := s.base.RoundTrip(r)
		if !again || err != nil || answer.StatusCode != http.StatusUnauthorized {
			return answer, err
		}
		_ = answer.Body.Close()
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
}

// codec is Protobuf's codec, with a [TextError] for text that is not UTF-8.
type codec struct{}

func (codec) Name() string { return "proto" }

func (c codec) Marshal(m any) ([]byte, error) { return c.MarshalAppend(nil, m) }

// MarshalAppend lets connect reuse its buffers.
func (codec) MarshalAppend(to []byte, m any) ([]byte, error) {
	data, err := proto.MarshalOptions{}.MarshalAppend(to, m.(proto.Message))
	if err != nil {
		err = cmp.Or(checkTexts(m.(proto.Message)), err)
	}
	return data, err
}

func (codec) Unmarshal(data []byte, m any) error { return proto.Unmarshal(data, m.(proto.Message)) }

// HandlerOptions returns the options of the handlers of both services: the maximum size of
// messages, and checks of their contents.
func HandlerOptions() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(MaxMessage), connect.WithSendMaxBytes(MaxMessage),
		connect.WithInterceptors(door{}),
		// Disable gzip: a small body may inflate to any size, and gzip takes a quarter of the time
		// of a short superstep.
		connect.WithCompression("gzip", nil, nil),
	}
}

// Loopback reports whether an address to listen at, HOST:PORT, can be reached only from this
// machine.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// Local reports whether a Host header names the loopback of this machine.
func Local(host string) bool {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "80")
	}
	return Loopback(host)
}

// ErrNoCertificate is the error of listening with TLS without a certificate.
var ErrNoCertificate = errors.New("TLS needs --tls-cert and --tls-key too: a certificate to show")

// CheckListen rejects an address that other machines can reach without TLS, unless there is a token
// that may be sent unencrypted.
func CheckListen(address string, who Credentials) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf(
			"found the address %q, expected HOST:PORT, such as 127.0.0.1:7700", address)
	}
	if who.TLS != nil && who.TLS.Cert == "" {
		return ErrNoCertificate
	}
	if who.TLS != nil || Loopback(address) || who.Token.Given() && who.InsecureToken {
		return nil
	}
	return fmt.Errorf("%s can be reached from other machines: give --tls-cert, --tls-key and "+
		"--tls-ca, or --token-file and --insecure-token, with which all travels in the clear, "+
		"or listen at 127.0.0.1", address)
}
