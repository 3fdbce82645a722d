package store

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// inFolder returns the files of a folder that contain a text.
func inFolder(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func wantErased(t *testing.T, dir string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if found := inFolder(t, dir, text); len(found) > 0 {
			t.Errorf("%s is in %s", text, found)
		}
	}
}

// The bytes of a secret that was replaced or deleted are in no file of the folder.
func TestReplacedSecretsAreErased(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	revisions := map[string]uint64{}
	for _, id := range []string{"a", "b", "c"} {
		if revisions[id], err = s.Secrets.CreateSecret(t.Context(), id, []byte("sealed first of "+id)); err != nil {
			t.Fatal(err)
		}
	}
	if len(inFolder(t, dir, "sealed first of a")) == 0 {
		t.Fatal("the test does not find what is stored")
	}
	second, err := s.Secrets.UpdateSecret(t.Context(), "a", []byte("sealed second of a"), revisions["a"])
	if err != nil {
		t.Fatal(err)
	}
	wantErased(t, dir, "sealed first of a")
	if _, err := s.Secrets.UpdateSecret(t.Context(), "a", []byte("sealed third of a"), second); err != nil {
		t.Fatal(err)
	}
	if err := s.Secrets.DeleteSecret(t.Context(), "b", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Secrets.CreateSecret(t.Context(), "b", []byte("sealed again of b")); err != nil {
		t.Fatal(err)
	}
	if err := s.Secrets.DeleteSecret(t.Context(), "c", revisions["c"]); err != nil {
		t.Fatal(err)
	}
	check := func(s *Store) {
		t.Helper()
		wantErased(t, dir, "sealed first of a", "sealed second of a", "sealed first of b", "sealed first of c")
		for id, want := range map[string]string{"a": "sealed third of a", "b": "sealed again of b"} {
			if sealed, _, err := s.Secrets.GetSecret(t.Context(), id); err != nil || string(sealed) != want {
				t.Errorf("%s is %q, %v", id, sealed, err)
			}
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), Options{Dir: dir, Listen: "-"}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check(s)
}

// What an earlier version has left, in a bucket from which messages may not be deleted, and what a crash has
// left between a write and the erasure, is erased at the start.
func TestSecretsOfAnEarlierVersionAreErased(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	js, stream := s.backend.JS, "KV_"+BucketSecrets
	old, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	config := old.CachedInfo().Config
	config.MaxMsgsPerSubject, config.DenyDelete, config.FirstSeq = 1, true, old.CachedInfo().State.LastSeq+1
	if err := js.DeleteStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	kv := s.Secrets.bucket.KV
	for _, write := range []struct{ id, text string }{{"a", "sealed first of a"}, {"b", "sealed first of b"}, {"a", "sealed second of a"}} {
		if _, err := kv.Put(t.Context(), write.id, []byte(write.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := kv.Purge(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(inFolder(t, dir, "sealed first of a")) == 0 {
		t.Fatal("the server has erased it by itself: nothing is left to test")
	}
	if s, err = Open(t.Context(), Options{Dir: dir, Listen: "-"}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantErased(t, dir, "sealed first of a", "sealed first of b")
	sealed, revision, err := s.Secrets.GetSecret(t.Context(), "a")
	if err != nil || string(sealed) != "sealed second of a" {
		t.Fatalf("%q, %v", sealed, err)
	}
	if _, err := s.Secrets.UpdateSecret(t.Context(), "a", []byte("sealed third of a"), revision); err != nil {
		t.Fatal(err)
	}
	wantErased(t, dir, "sealed second of a")
	if _, err := s.Secrets.bucket.KV.Put(t.Context(), "a", []byte("sealed fourth of a")); err != nil { // as before a crash
		t.Fatal(err)
	}
	if err := s.Secrets.EraseSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantErased(t, dir, "sealed third of a")
}
