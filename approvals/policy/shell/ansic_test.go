package shell

import "testing"

func TestAnsiC(t *testing.T) {
	for text, want := range map[string]string{`a\x41\n`: "aA\n", `\u00e9\101`: "éA", `\'\\`: `'\`} {
		if got, ok := ansiC(text); !ok || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{`\`, `\q`, `\x0`, `\400`, `\U00110000`, `\x`} {
		if got, ok := ansiC(text); ok {
			t.Errorf("%q: %q", text, got)
		}
	}
}
