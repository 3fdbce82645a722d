// Package golden compares files that the code generates with what it generates now.
package golden

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Check reports a file that is not what it should be, and the command that writes it.
// Where it is to be updated it is written first.
func Check(t *testing.T, file string, want []byte, update bool, command string) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the code says; `%s` writes it (-code +file):\n%s", file, command, diff)
	}
}
