package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/starter"
)

func TestUniqueName(t *testing.T) {
	for _, tt := range []struct{ files, want []string }{
		{[]string{"policy.yaml"}, []string{"policy.yaml"}},
		{[]string{"/etc/heldcall/policy.yaml", "/etc/heldcall/own.yaml"}, []string{"policy.yaml", "own.yaml"}},
		{[]string{"/etc/policy.yaml", "/etc/a/policy.yaml", "/etc/b/policy.yaml"}, []string{"etc/policy.yaml", "a/policy.yaml", "b/policy.yaml"}},
		{[]string{"policy.yaml", "a/policy.yaml"}, []string{"policy.yaml", "a/policy.yaml"}},
		{[]string{"/x/a/p.yaml", "/y/a/p.yaml"}, []string{"x/a/p.yaml", "y/a/p.yaml"}},
		{[]string{"my-policy.yaml", "policy.yaml"}, []string{"my-policy.yaml", "policy.yaml"}},
	} {
		var all []*Source
		for _, file := range tt.files {
			all = append(all, &Source{file: file})
		}
		for i, s := range all {
			if got := uniqueName(s.file, all); got != tt.want[i] {
				t.Errorf("%s of %q is %q, want %q", s.file, tt.files, got, tt.want[i])
			}
		}
	}
}

// TestReload changes a policy file step by step: after an error the previous policy stays in
// force.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	j := New(Options{File: file, Optional: true})
	s := j.Sources()[0]
	write := func(rules string) func() error {
		return func() error { return os.WriteFile(file, []byte(rules), 0o600) }
	}
	nothing := func() error { return nil }
	if err := j.Load(); err != nil || s.Refused() != "" {
		t.Fatal(err, s.Refused())
	}
	for i, tt := range []struct {
		do      func() error
		always  bool
		changed bool
		refused string
		want    policy.Action // in force
	}{
		{nothing, false, false, "", policy.Ask},
		{nothing, true, false, "", policy.Ask},
		{write("default: deny\n"), false, true, "", policy.Deny},
		{nothing, false, false, "", policy.Deny},
		{nothing, true, true, "", policy.Deny},
		{write("default: maybe\n"), false, false, "default", policy.Deny},
		{nothing, false, false, "default", policy.Deny},
		{nothing, true, false, "default", policy.Deny},
		{func() error { return os.Remove(file) }, false, false, "read the policy", policy.Deny},
		{write("default: allow\n"), false, true, "", policy.Allow},
	} {
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		changed, err := s.Reload(tt.always)
		got := s.Policy().Judge(policy.Call{Tool: "bash", Arguments: "{}"}).Action
		if changed != tt.changed || got != tt.want || !strings.Contains(s.Refused(), tt.refused) || (s.Refused() == "") != (tt.refused == "") {
			t.Errorf("step %d: changed %t, in force %s, refused %q, %v", i, changed, got, s.Refused(), err)
		}
	}
}

func TestLoadNeedsNamedFiles(t *testing.T) {
	dir := t.TempDir()
	main := filepath.Join(dir, "policy.yaml")
	for _, o := range []Options{
		{File: main},
		{File: main, Optional: true, Clients: []ClientPolicy{{KeySHA256: "a", File: filepath.Join(dir, "own.yaml")}}},
	} {
		if err := New(o).Load(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestSHA256CoversWhatIsExtended: the sum of a policy is that of its file and the text that it extends, one after the other.
func TestSHA256CoversWhatIsExtended(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	for _, src := range []string{"default: ask\n", "extends: starter/1\n"} {
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		j := New(Options{File: file})
		if err := j.Load(); err != nil {
			t.Fatal(err)
		}
		text := src
		if strings.HasPrefix(src, "extends") {
			text += string(starter.Versions()[0].Text)
		}
		want := sha256.Sum256([]byte(text))
		if got := j.Sources()[0].SHA256(); got != hex.EncodeToString(want[:]) {
			t.Errorf("%q: %s, want %x", src, got, want)
		}
	}
}
