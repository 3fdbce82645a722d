package strictyaml

import "testing"

func TestSizeSaysItself(t *testing.T) {
	for text, want := range map[string]string{"64MiB": "64MiB", "1024 KiB": "1MiB", "500kB": "500000B", "0B": "0B"} {
		size, err := parseSize(text)
		if err != nil || size.String() != want {
			t.Errorf("parseSize(%q) = %s, %v, want %s", text, size, err, want)
		}
	}
}
