package mesh

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// When two workers connect, each proves to the other that it has the cluster's token, without
// sending the token:
//
//	dialler                                         listener
//	hello   incarnation 8, nonce 32, name       ->
//	                                            <-  challenge  incarnation 8, nonce 32, name
//	proof   HMAC("dial", hello, challenge) 32   ->
//	                                            <-  verdict    HMAC("listen", hello, challenge,
//	                                                           window) 32, window 8
//
// A probe sends, instead of its proof, a block with another status and HMAC("probe", hello,
// challenge), and then probeSize bytes. The answer, after all of them have arrived, is an empty
// block.
//
// Each is sent in a block, with the same format in all versions. If the status is a refusal, the
// body is the reason as text:
//
//	0  magic "SSHI"  4 | version  2 | status  2 | bytes of body  2 | body
const (
	helloMagic  = "SSHI"
	blockHeader = 10
	maxBody     = 512
	maxName     = 128
	nonceSize   = 32
	statusGo    = 0
	statusNo    = 1
	statusProbe = 2
	probeSize   = 16 << 10 // larger than any link's packets
)

// Reasons for refusing a hello.
var (
	ErrVersion = errors.New("protocol versions differ")
	ErrToken   = errors.New("wrong cluster token")
	ErrFenced  = errors.New("fenced")
	ErrGarbage = errors.New("not a superstep worker")

	errProbed = errors.New("it was a probe")
)

// greeting identifies one side.
type greeting struct {
	name        string
	incarnation uint64
	body        []byte
}

func newGreeting(name string, incarnation uint64) greeting {
	body := binary.LittleEndian.AppendUint64(nil, incarnation)
	var nonce [nonceSize]byte
	rand.Read(nonce[:]) // never fails
	body = append(append(body, nonce[:]...), name...)
	return greeting{name, incarnation, body}
}

func parseGreeting(body []byte) (greeting, error) {
	if len(body) < 8+nonceSize {
		return greeting{}, fmt.Errorf("%w: a hello of %d bytes", ErrGarbage, len(body))
	}
	g := greeting{string(body[8+nonceSize:]), binary.LittleEndian.Uint64(body), body}
	return g, checkName(g.name)
}

func checkName(name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("%w: found name %.40q, expected 1 to %d bytes of printable text",
			ErrGarbage, name, maxName)
	}
	return nil
}

// prove returns the proof that a side has the token. It is valid for this connection only.
func prove(token, side string, hello, challenge, window []byte) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	for _, part := range [][]byte{[]byte(side), {Version}, hello, challenge, window} {
		// Prefix each part with its length, so that no two lists of parts are the same bytes.
		mac.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func writeBlock(w io.Writer, status uint16, body []byte) error {
	b := make([]byte, blockHeader, blockHeader+len(body))
	copy(b, helloMagic)
	binary.LittleEndian.PutUint16(b[4:], Version)
	binary.LittleEndian.PutUint16(b[6:], status)
	binary.LittleEndian.PutUint16(b[8:], uint16(len(body)))
	_, err := w.Write(append(b, body...))
	return err
}

// readBlock reads a block. It returns an error for a refusal and for another version.
func readBlock(r io.Reader, peer string) ([]byte, error) {
	status, body, err := readStatus(r, peer)
	if err == nil && status != statusGo {
		err = refusal(peer, string(body))
	}
	return body, err
}

// readStatus reads a block with any status.
func readStatus(r io.Reader, peer string) (uint16, []byte, error) {
	var b [blockHeader]byte
	if _, err := io.ReadFull(r, b[:4]); err != nil {
		return 0, nil, err
	}
	if string(b[:4]) != helloMagic {
		return 0, nil, fmt.Errorf("%w: found %q, expected %s", ErrGarbage, b[:4], helloMagic)
	}
	if _, err := io.ReadFull(r, b[4:]); err != nil {
		return 0, nil, err
	}
	version, status, n := binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[6:]),
		binary.LittleEndian.Uint16(b[8:])
	if n > maxBody {
		return 0, nil, fmt.Errorf("%w: a block of %d bytes", ErrGarbage, n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, err
	}
	// Check only now: closing with unread data would reset the connection, and the refusal would be
	// lost.
	if version != Version {
		return 0, nil, fmt.Errorf("%w: %s has version %d, this worker has version %d", ErrVersion,
			peer, version, Version)
	}
	return status, body, nil
}

// refusal returns the error for the other side's reason.
func refusal(peer, reason string) error {
	for _, known := range []error{ErrVersion, ErrToken, ErrCertificate, ErrFenced} {
		if detail, ok := strings.CutPrefix(reason, known.Error()); ok {
			if detail = strings.TrimPrefix(detail, ": "); detail == "" {
				return fmt.Errorf("refused by %s: %w", peer, known)
			}
			return fmt.Errorf("refused by %s: %w: %.200q", peer, known, detail)
		}
	}
	return fmt.Errorf("refused by %s: %.200q", peer, reason)
}

// refuse sends the other side the reason for a refusal.
func refuse(w io.Writer, reason error) {
	text := reason.Error()
	_ = writeBlock(w, statusNo, []byte(text[:min(len(text), maxBody)])) // it may be gone
}

// challenged sends the hello, and returns the listener's greeting, whose body is the challenge.
func challenged(c io.ReadWriter, self greeting, who string) (greeting, error) {
	if err := writeBlock(c, statusGo, self.body); err != nil {
		return greeting{}, err
	}
	challenge, err := readBlock(c, who)
	if err != nil {
		return greeting{}, err
	}
	return parseGreeting(challenge)
}

// dialHello runs the dialler's half of the hello, and returns the window. Unless the listener is
// known, the dialler stops if the listener is not the peer, before that one takes this for a new
// connection.
func dialHello(
	c io.ReadWriter, token string, self greeting, peer Peer, known bool,
) (uint64, error) {
	who := "worker " + peer.Name
	other, err := challenged(c, self, who)
	if err != nil {
		return 0, err
	}
	if !known && (other.name != peer.Name || other.incarnation != peer.Incarnation) {
		return 0, fmt.Errorf("%w: found worker %s, expected %s", ErrFenced, other.name, peer.Name)
	}
	if err := writeBlock(c, statusGo,
		prove(token, "dial", self.body, other.body, nil)); err != nil {
		return 0, err
	}
	verdict, err := readBlock(c, who)
	if err != nil {
		return 0, err
	}
	if len(verdict) != sha256.Size+8 || !hmac.Equal(verdict[:sha256.Size],
		prove(token, "listen", self.body, other.body, verdict[sha256.Size:])) {
		return 0, fmt.Errorf("%s: %w", who, ErrToken)
	}
	if other.name != peer.Name || other.incarnation != peer.Incarnation {
		return 0, fmt.Errorf("%w: at %s found worker %s, incarnation %d, expected %s, incarnation %d",
			ErrFenced, peer.Addr, other.name, other.incarnation, peer.Name, peer.Incarnation)
	}
	window := binary.LittleEndian.Uint64(verdict[sha256.Size:])
	if window == 0 {
		return 0, fmt.Errorf("%s: found a window of 0 bytes, expected more", who)
	}
	return window, nil
}

// listenHello runs the listener's half of the hello. If untrusted is not nil, it is the reason to
// refuse everyone. admit may refuse a side that has proved to be a worker.
func listenHello(
	c io.ReadWriter, token string, self greeting, window uint64, untrusted error,
	admit func(greeting) error,
) (greeting, error) {
	hello, err := readBlock(c, "the dialling worker")
	if err != nil {
		if errors.Is(err, ErrVersion) {
			refuse(c, err)
		}
		return greeting{}, err
	}
	other, err := parseGreeting(hello)
	if err != nil {
		return greeting{}, err
	}
	if untrusted != nil {
		refuse(c, untrusted)
		return greeting{}, fmt.Errorf("worker %s: %w", other.name, untrusted)
	}
	if err := writeBlock(c, statusGo, self.body); err != nil {
		return greeting{}, err
	}
	who := "worker " + other.name
	status, proof, err := readStatus(c, who)
	if err != nil {
		return greeting{}, err
	}
	side := "dial"
	switch status {
	case statusGo:
	case statusProbe: // read it all: closing with unread data would reset the connection
		side = "probe"
		if _, err := io.CopyN(io.Discard, c, probeSize); err != nil {
			return greeting{}, err
		}
	default:
		return greeting{}, refusal(who, string(proof))
	}
	if !hmac.Equal(proof, prove(token, side, hello, self.body, nil)) {
		refuse(c, ErrToken)
		return greeting{}, fmt.Errorf("%s: %w", who, ErrToken)
	}
	if status == statusProbe {
		return greeting{}, cmp.Or(writeBlock(c, statusGo, nil), errProbed)
	}
	if err := admit(other); err != nil {
		refuse(c, err)
		return greeting{}, fmt.Errorf("%s: %w", who, err)
	}
	grant := binary.LittleEndian.AppendUint64(nil, window)
	return other,
		writeBlock(c, statusGo, append(prove(token, "listen", hello, self.body, grant), grant...))
}
