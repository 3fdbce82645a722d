package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

// pythonWheel is the package for pip: a zip with the program as a script, which pip puts on
// the path of the environment.
func (p *program) pythonWheel() (map[string][]byte, error) {
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	version := pythonVersion(p.version)
	name := "heldcall-" + version
	info := name + ".dist-info/"
	files := []file{
		{name + ".data/scripts/" + executable(p.platform), 0o755, p.content},
		{info + "licenses/LICENSE", 0o644, license},
		{info + "METADATA", 0o644, wheelMetadata(version)},
		{info + "WHEEL", 0o644, wheelTags(p.wheel)},
	}
	files = append(files, file{info + "RECORD", 0o644, wheelRecord(files, info+"RECORD")})
	packed, err := zipped(files)
	return map[string][]byte{name + "-py3-none-" + p.wheel + ".whl": packed}, err
}

// pythonVersion is a version as Python writes it: v1.2.3-rc.1 is 1.2.3rc1.
func pythonVersion(version string) string {
	return strings.NewReplacer("-alpha.", "a", "-beta.", "b", "-rc.", "rc").Replace(strings.TrimPrefix(version, "v"))
}

func wheelMetadata(version string) []byte {
	return fmt.Appendf(nil, `Metadata-Version: 2.4
Name: heldcall
Version: %s
Summary: %s
Project-URL: Homepage, %s
License-Expression: %s
License-File: LICENSE
Requires-Python: >=3.8
Description-Content-Type: text/markdown

%s`, version, summary, homepage, license, packageReadme)
}

// wheelTags names each tag of the file name on a line.
func wheelTags(platforms string) []byte {
	text := "Wheel-Version: 1.0\nGenerator: heldcall release\nRoot-Is-Purelib: false\n"
	for tag := range strings.SplitSeq(platforms, ".") {
		text += "Tag: py3-none-" + tag + "\n"
	}
	return []byte(text)
}

// wheelRecord lists the files with their hashes, and itself without.
func wheelRecord(files []file, itself string) []byte {
	var text bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&text, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&text, "%s,,\n", itself)
	return text.Bytes()
}
