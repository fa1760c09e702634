package control

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
)

// A foreign server may listen at the master's address. So callers and the master prove to each
// other that they know the token, before anything else is sent. The token itself is not sent:
//
//	caller                                                        master
//	GET ChallengePath                                  ->
//	                                                   <-  challenge 72
//	GET ChallengePath, Authorization: Proof
//	  nonce 32, challenge 72, HMAC("worker") 32        ->
//	                                                   <-  HMAC("master") 32
//
// All are in hexadecimal digits. The key of the HMACs is the token, and their message contains
// nonce and challenge. A challenge consists of 32 random bytes, its time, and an HMAC of both with
// a key of the master's process, which therefore need not store challenges. Calls, and the start of
// a worker's session, have the same Authorization header while the challenge is valid.
const (
	ChallengePath = "/superstep.control.v1.Challenge"
	proofPrefix   = "Proof "
	nonceSize     = 32
	challengeSize = nonceSize + 8 + sha256.Size
	// challengeHolds is how long a proof is valid for calls.
	challengeHolds = 20 * time.Second
)

// issuer makes and verifies challenges.
type issuer struct {
	key   [32]byte
	start time.Time
}

func newIssuer() *issuer {
	i := &issuer{start: time.Now()}
	_, _ = rand.Read(i.key[:]) // never fails
	return i
}

// challenges is the issuer of this process.
var challenges = newIssuer()

func (i *issuer) mac(body []byte) []byte {
	m := hmac.New(sha256.New, i.key[:])
	m.Write(body)
	return m.Sum(nil)
}

func (i *issuer) challenge(now time.Time) []byte {
	c := make([]byte, nonceSize, challengeSize)
	_, _ = rand.Read(c)
	c = binary.BigEndian.AppendUint64(c, uint64(now.Sub(i.start)))
	return append(c, i.mac(c)...)
}

// holds reports whether this process issued a challenge that is still valid.
func (i *issuer) holds(c []byte, now time.Time) bool {
	if len(c) != challengeSize || !hmac.Equal(i.mac(c[:nonceSize+8]), c[nonceSize+8:]) {
		return false
	}
	age := now.Sub(i.start) - time.Duration(binary.BigEndian.Uint64(c[nonceSize:]))
	return age >= 0 && age < challengeHolds
}

// proof returns the HMAC by which a side, worker (or client) or master, proves that it knows the
// token.
func (t Token) proof(side string, nonce, challenge []byte) []byte {
	m := hmac.New(sha256.New, []byte(t.text))
	fmt.Fprintf(m, "superstep control %d %s\n", Protocol, side)
	m.Write(nonce)
	m.Write(challenge)
	return m.Sum(nil)
}

// proved returns the nonce and challenge in a header if it contains a valid proof.
func (t Token) proved(header string, now time.Time) (nonce, challenge []byte, ok bool) {
	text, ok := strings.CutPrefix(header, proofPrefix)
	if !ok || !t.Given() || len(text) != 2*(nonceSize+challengeSize+sha256.Size) {
		return nil, nil, false
	}
	all, err := hex.DecodeString(text)
	if err != nil {
		return nil, nil, false
	}
	nonce, challenge = all[:nonceSize], all[nonceSize:nonceSize+challengeSize]
	right := hmac.Equal(all[nonceSize+challengeSize:], t.proof("worker", nonce, challenge))
	return nonce, challenge, right && challenges.holds(challenge, now)
}

// Challenge handles ChallengePath.
func Challenge(g *Gate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		header := r.Header.Get("Authorization")
		if header == "" {
			_, _ = io.WriteString(w, hex.EncodeToString(challenges.challenge(time.Now())))
			return
		}
		nonce, challenge, ok := g.Token.proved(header, time.Now())
		if !ok {
			g.Refuse(r.RemoteAddr, errToken)
			w.Header().Set(refusedHeader, "1")
			http.Error(w, errToken.Error(), http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, hex.EncodeToString(g.Token.proof("master", nonce, challenge)))
	})
}

// credential is the Authorization header of a connection's calls.
type credential struct{ header atomic.Pointer[string] }

func (c *credential) set(header string) { c.header.Store(&header) }

func (c *credential) sign(h http.Header) {
	if text := c.header.Load(); text != nil && *text != "" {
		h.Set("Authorization", *text)
	}
}

// errUnproved means that the server does not know the token.
var errUnproved = errors.New("the server does not know the cluster's token: it is not its master")

// ErrToken means that a master's token cannot be read here, so the master was not reached.
var ErrToken = errors.New("the token")

// prove exchanges proofs with the master. Without a token there is nothing to prove. With TLS the
// master's certificate is the proof.
func (c *Connection) prove(ctx context.Context) error {
	c.renew()
	token := c.who.Token
	if c.who.TLS != nil {
		return nil
	}
	if !token.Given() {
		var err error
		if token, err = findToken(c.address); err != nil {
			err = fmt.Errorf("%w for %s: %w; --token-file names another", ErrToken, c.address, err)
			return connect.NewWireError(connect.CodeInternal, err)
		}
	}
	if !token.Given() {
		return nil
	}
	challenge, err := c.challenged(ctx, "", challengeSize)
	if err != nil {
		return err
	}
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce)
	proof := slices.Concat(nonce, challenge, token.proof("worker", nonce, challenge))
	header := proofPrefix + hex.EncodeToString(proof)
	answer, err := c.challenged(ctx, header, sha256.Size)
	if own := !c.who.Token.Given(); own && connect.CodeOf(err) == connect.CodeUnauthenticated {
		err = fmt.Errorf("the server at %s does not know this user's token for that address: it "+
			"is another user's, or was started with --token-file: give the same file", c.address)
		return connect.NewWireError(connect.CodeUnauthenticated, err)
	}
	if err != nil {
		return err
	}
	if !hmac.Equal(answer, token.proof("master", nonce, challenge)) {
		return connect.NewError(connect.CodeUnavailable, errUnproved)
	}
	c.credential.set(header)
	now := time.Now()
	c.proved.Store(&now)
	return nil
}

// exitTime bounds ReportExit.
const exitTime = 2 * time.Second

// ReportExit tells a master why a worker's process ended.
func ReportExit(address string, who Credentials, dial Dialer, r *ReportExitRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), exitTime)
	defer cancel()
	r.Reason = Text(r.Reason, MaxName)
	c, err := Connect(address, who, dial)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Workers.ReportExit(ctx, r)
	return err
}

// challenged requests ChallengePath and expects size bytes.
func (c *Connection) challenged(ctx context.Context, header string, size int) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+ChallengePath, nil)
	if err != nil {
		return nil, err
	}
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	answer, err := c.base.RoundTrip(r)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, connect.NewError(connect.CodeDeadlineExceeded, err)
	case errors.Is(err, context.Canceled):
		return nil, connect.NewError(connect.CodeCanceled, err)
	case err != nil:
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		var said struct{ Error string } // see Deny
		_ = json.NewDecoder(io.LimitReader(answer.Body, maxReason)).Decode(&said)
		if said.Error == "" {
			said.Error = fmt.Sprintf("the answer to a challenge was %q", answer.Status)
			return nil, connect.NewError(connect.CodeUnavailable, errors.New(said.Error))
		}
		err := errors.New(Text(said.Error, MaxText))
		return nil, connect.NewWireError(connect.CodeUnavailable, err)
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, refusedBy(answer)
	default:
		return nil, connect.NewError(connect.CodeUnimplemented,
			fmt.Errorf("the answer to a challenge was %q", answer.Status))
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, int64(2*size+1)))
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	data, err := hex.DecodeString(string(text))
	if err != nil || len(data) != size {
		return nil, connect.NewError(connect.CodeUnavailable, errUnproved)
	}
	return data, nil
}
