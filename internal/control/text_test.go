package control

import (
	"errors"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, x := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "..."},
		{"abcdefgh", 7, "abcd..."},
		{"a\xff\xfeb", 9, "a\ufffdb"},
		{"\u20ac\u20ac", 6, "\u20ac\u20ac"},
		{"\u20ac\u20ac\u20ac", 8, "\u20ac..."},
		{"\u20ac\u20ac\u20ac", 6, "\u20ac..."},
		{"\u20ac\u20ac\u20ac", 5, "..."},
		{"\xffa\xffa\xffa", 9, "\ufffda..."},
		{"ab\U0001f600\U0001f600", 8, "ab..."},
	} {
		if got := Text(x.text, x.most); got != x.want {
			t.Errorf("%q cut at %d: found %q, expected %q", x.text, x.most, got, x.want)
		}
	}
}

// FuzzText: the result is valid UTF-8, and a prefix of the text if that is valid.
func FuzzText(f *testing.F) {
	f.Add("a\u20ac\xff\U0001f600", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 3 || most > 1<<16 {
			return
		}
		got := Text(text, most)
		if !utf8.ValidString(got) || len(got) > most || Text(got, most) != got {
			t.Errorf("%q cut at %d: found %q", text, most, got)
		}
		if utf8.ValidString(text) && len(text) <= most != (got == text) {
			t.Errorf("%q cut at %d: found %q", text, most, got)
		}
	})
}

// TestLaneRefusesWhatIsNoText: sending a message that cannot be encoded returns an error, and the
// session continues.
func TestLaneRefusesWhatIsNoText(t *testing.T) {
	left, right := lanes(t)
	var codec *CodecError
	var text *TextError
	if err := left.Send(line("\xff")); !errors.As(err, &codec) || !errors.As(err, &text) {
		t.Errorf("found %v", err)
	}
	if left.Offer(line("\xff")) {
		t.Error("it was taken")
	}
	go func() {
		_ = left.Send(line("small"))
		left.End(errors.New("file \xff is gone"))
	}()
	m := &FromWorker{}
	if err := right.Receive(m); err != nil || m.GetLeave().GetReason() != "small" {
		t.Errorf("after it: %v", err)
	}
	if err := right.Receive(m); err == nil || err.Error() != "file \ufffd is gone" {
		t.Errorf("at the end: %v", err)
	}
}
