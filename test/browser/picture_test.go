package browser

import (
	"bytes"
	"encoding/json"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "keep the pictures, for the documentation")

// pictures is where the documentation has them.
const pictures = "../../docs/images"

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// dark makes the system's colours dark or light.
func dark(yes bool) chromedp.Action {
	value := "light"
	if yes {
		value = "dark"
	}
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}})
}

// picture takes a picture of the window, in which there must be something to see, and keeps it if asked.
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
	if !*update {
		return
	}
	var out bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, paletted))
	must(t, os.MkdirAll(pictures, 0o755))
	must(t, os.WriteFile(filepath.Join(pictures, name+".png"), out.Bytes(), 0o644))
}

// reduce keeps the 256 colours that are seen most: the picture then takes a third.
func reduce(from image.Image) *image.Paletted {
	count := map[color.RGBA]int{}
	size := from.Bounds()
	plain := image.NewRGBA(size)
	draw.Draw(plain, size, from, size.Min, draw.Src)
	for y := range size.Dy() {
		for x := range size.Dx() {
			count[plain.RGBAAt(x, y)]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return count[b] - count[a] })
	var palette color.Palette
	for _, c := range all[:min(len(all), 256)] {
		palette = append(palette, c)
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
