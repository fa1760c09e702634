package control

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// proving serves a cluster that requires a token, and records the headers of requests.
func proving(t *testing.T, token Token) (address string, refused *int, seen func() string) {
	t.Helper()
	refused = new(int)
	mux := http.NewServeMux()
	path, h := NewWorkersHandler(UnimplementedWorkersHandler{}, HandlerOptions()...)
	gate := &Gate{Credentials: Credentials{Token: token}, Refused: func(string, error) { *refused++ }}
	mux.Handle(path, gate.Service(h))
	mux.Handle(ChallengePath, Challenge(gate))
	mux.Handle("GET "+SessionPath, Sessions(&Gate{Credentials: gate.Credentials},
		func(_ context.Context, l *Lane) { l.End(errors.New("enough")) }))
	var mu sync.Mutex
	var all []string
	server := httptest.NewUnstartedServer(nil)
	server.Config = NewHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, r.URL.String()+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		mux.ServeHTTP(w, r)
	}), t.Context())
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), refused, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(all, "\n")
	}
}

// TestProve: caller and master prove to each other that they know the token. The calls are then
// accepted without the token.
func TestProve(t *testing.T) {
	address, refused, seen := proving(t, rightToken)
	worker := func(token Token) *Connection {
		c, err := Connect(address, Credentials{Token: token}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	register := func(c *Connection) error {
		_, err := c.Workers.Register(t.Context(), &RegisterRequest{})
		return err
	}
	c := worker(rightToken)
	if err := register(c); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("a client with the right token: %v", err)
	}
	c.credential.set(proofPrefix + "of a challenge of an earlier master")
	if err := register(c); connect.CodeOf(err) != connect.CodeUnimplemented || *refused != 1 {
		t.Errorf("of another master: %v, %d refused", err, *refused)
	}
	c.credential.set(proofPrefix + "of a challenge that holds no more")
	l, err := c.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Receive(&ToWorker{}); err == nil || err.Error() != "enough" {
		t.Errorf("the session: %v", err)
	}
	l.Close()
	if err := worker(Token{text: "a-wrong-token-of-some"}).prove(t.Context()); connect.CodeOf(err) != connect.CodeUnauthenticated || !Final(err) || *refused != 2 {
		t.Errorf("with a wrong token: %v, %d refused", err, *refused)
	}
	if text := seen(); strings.Contains(text, rightToken.text) || strings.Contains(text, "Bearer") {
		t.Errorf("the token was sent:\n%s", text)
	}
}

// TestProveRefusesImpostors: a process that does not know the token, or repeats the worker's own
// proof, is refused.
func TestProveRefusesImpostors(t *testing.T) {
	tokenless, _, _ := proving(t, Token{})
	nonsense := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		if header == "" {
			_, _ = w.Write([]byte(strings.Repeat("00", challengeSize)))
			return
		}
		_, _ = w.Write([]byte(header[len(header)-64:])) // repeats the worker's proof
	}))
	defer nonsense.Close()
	mirror := httptest.NewUnstartedServer(nil)
	mirror.Config = NewHTTPServer(nonsense.Config.Handler, t.Context())
	mirror.Start()
	defer mirror.Close()
	for _, address := range []string{tokenless, mirror.Listener.Addr().String()} {
		c, err := Connect(address, Credentials{Token: rightToken}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.prove(t.Context()); err == nil {
			t.Errorf("%s was taken for a master", address)
		}
		c.Close()
	}
}

// TestProofsAreOfOneChallenge: a proof is invalid without the token, for the challenge of another
// process, and for an old or changed challenge.
func TestProofsAreOfOneChallenge(t *testing.T) {
	now := time.Now()
	nonce := make([]byte, nonceSize)
	header := func(token Token, challenge []byte) string {
		return proofPrefix + hex.EncodeToString(nonce) + hex.EncodeToString(challenge) +
			hex.EncodeToString(token.proof("worker", nonce, challenge))
	}
	good := challenges.challenge(now)
	changed := append([]byte(nil), good...)
	changed[nonceSize+7]++ // the time of the challenge
	right := header(rightToken, good)
	for what, x := range map[string]struct {
		header string
		at     time.Time
		want   bool
	}{
		"right":             {right, now, true},
		"soon after":        {right, now.Add(challengeHolds - time.Second), true},
		"old":               {right, now.Add(challengeHolds + time.Second), false},
		"of the future":     {right, now.Add(-time.Second), false},
		"another token":     {header(Token{text: "a-wrong-token-of-some"}, good), now, false},
		"no token":          {header(Token{}, good), now, false},
		"another challenge": {header(rightToken, newIssuer().challenge(now)), now, false},
		"changed":           {header(rightToken, changed), now, false},
		"short":             {right[:len(right)-2], now, false},
		"no digits":         {right[:len(right)-1] + "x", now, false},
		"nothing":           {proofPrefix, now, false},
		"a master's":        {proofPrefix + hex.EncodeToString(nonce) + hex.EncodeToString(good) + hex.EncodeToString(rightToken.proof("master", nonce, good)), now, false},
	} {
		if _, _, ok := rightToken.proved(x.header, x.at); ok != x.want {
			t.Errorf("%s: found %v", what, ok)
		}
	}
}
