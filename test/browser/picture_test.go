package browser

import (
	"bytes"
	"encoding/json"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "keep the pictures, for the documentation")

// pictures is the directory of the documentation's pictures.
const pictures = "../../docs/images"

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// dark sets the system's color scheme to dark or light.
func dark(yes bool) chromedp.Action {
	value := "light"
	if yes {
		value = "dark"
	}
	return emulation.SetEmulatedMedia().WithFeatures(
		[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}})
}

// picture takes a picture of the window, which must not be blank. If requested it saves the picture,
// if the documentation shows it.
func (b *tab) picture(t *testing.T, name string) {
	t.Helper()
	var shot []byte
	b.do(t, chromedp.Sleep(settle), chromedp.CaptureScreenshot(&shot))
	seen, err := png.Decode(bytes.NewReader(shot))
	must(t, err)
	paletted := reduce(seen)
	if n := len(paletted.Palette); n < 16 {
		t.Errorf("%s has %d colours", name, n)
	}
	if !*update || !documented(t, name) {
		return
	}
	var out bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, paletted))
	must(t, os.MkdirAll(pictures, 0o755))
	must(t, os.WriteFile(filepath.Join(pictures, name+".png"), out.Bytes(), 0o644))
}

// documented reports whether a page of the documentation has a picture.
func documented(t *testing.T, name string) bool {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	must(t, err)
	return slices.ContainsFunc(append(pages, "../../README.md"), func(page string) bool {
		text, err := os.ReadFile(page)
		must(t, err)
		return bytes.Contains(text, []byte("images/"+name+".png"))
	})
}

// reduce reduces a picture to 256 colors, which takes a third of the bytes. Similar colors are
// merged first, so that shades at the edges of letters do not displace the colors of heat maps.
func reduce(from image.Image) *image.Paletted {
	type shade struct {
		count, most int
		is          color.RGBA // the most frequent color
	}
	count, shades := map[color.RGBA]int{}, map[color.RGBA]*shade{}
	size := from.Bounds()
	plain := image.NewRGBA(size)
	draw.Draw(plain, size, from, size.Min, draw.Src)
	for y := range size.Dy() {
		for x := range size.Dx() {
			count[plain.RGBAAt(x, y)]++
		}
	}
	for c, n := range count {
		about := color.RGBA{R: c.R >> 4, G: c.G >> 4, B: c.B >> 4}
		s := shades[about]
		if s == nil {
			s = &shade{}
			shades[about] = s
		}
		if s.count += n; n > s.most {
			s.most, s.is = n, c
		}
	}
	all := slices.SortedFunc(maps.Values(shades),
		func(a, b *shade) int { return b.count - a.count })
	var palette color.Palette
	for _, s := range all[:min(len(all), 200)] {
		palette = append(palette, s.is)
	}
	// The rest of the palette are the most frequent colors that are not in it yet.
	own := slices.SortedFunc(maps.Keys(count),
		func(a, b color.RGBA) int { return count[b] - count[a] })
	for _, c := range own {
		if len(palette) < 256 && !slices.Contains(palette, color.Color(c)) {
			palette = append(palette, c)
		}
	}
	to := image.NewPaletted(size, palette)
	near := map[color.RGBA]uint8{}
	for c := range count {
		near[c] = uint8(palette.Index(c))
	}
	for y := range size.Dy() {
		for x := range size.Dx() {
			to.SetColorIndex(x, y, near[plain.RGBAAt(x, y)])
		}
	}
	return to
}
