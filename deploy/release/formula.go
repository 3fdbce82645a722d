package main

import (
	"bytes"
	_ "embed"
	"strings"
	"text/template"
)

//go:embed packages/heldcall.rb.tmpl
var formulaText string

// homebrew are the blocks of a formula for the platforms that Homebrew serves.
var homebrew = []struct{ system, cpu, platform string }{
	{"macos", "arm", "darwin/arm64"},
	{"macos", "intel", "darwin/amd64"},
	{"linux", "arm", "linux/arm64"},
	{"linux", "intel", "linux/amd64"},
}

// formula is the formula for Homebrew, which names the archives of the release and
// their checksums.
func formula(version string, platforms []platform, sums map[string]string) (map[string][]byte, error) {
	type block struct{ System, CPU, URL, SHA256 string }
	var blocks []block
	for _, h := range homebrew {
		for _, p := range platforms {
			if name := archiveName(version, p); p.String() == h.platform {
				blocks = append(blocks, block{h.system, h.cpu, homepage + "/releases/download/" + version + "/" + name, sums[name]})
			}
		}
	}
	if len(blocks) == 0 {
		return nil, nil
	}
	parsed, err := template.New("heldcall.rb").Parse(formulaText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, map[string]any{
		"Version": strings.TrimPrefix(version, "v"), "Summary": summary, "Homepage": homepage, "License": license, "Blocks": blocks,
	})
	return map[string][]byte{"heldcall.rb": out.Bytes()}, err
}
