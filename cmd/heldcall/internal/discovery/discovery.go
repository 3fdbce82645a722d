// Package discovery lets commands and other runs of a user find a `heldcall run` that serves, by
// a socket in the folder of its state, which only that user can open. A run answers there with its
// addresses and with proofs that it knows a token, and attaches agents of other runs. It sends no
// token, and takes no decisions.
//
// Read messages.go (the wire), server.go and attach.go (the run that serves), client.go (commands
// and runs that look for it).
package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

const (
	socketName = "run.sock"
	lockName   = "run.lock"
	maxSocket  = 100 // bytes of the name of a socket; systems limit it to 104 or more
)

// withSocket calls use with a name of the socket in a folder. If the name is too long, use gets a shorter
// one through a symbolic link, which exists until use returns.
func withSocket(folder string, use func(name string) error) error {
	name := filepath.Join(folder, socketName)
	if len(name) <= maxSocket {
		return use(name)
	}
	short, err := os.MkdirTemp("", "heldcall")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	link := filepath.Join(short, "d")
	if err := os.Symlink(folder, link); err != nil {
		return err
	}
	return use(filepath.Join(link, socketName))
}

// Folder returns the folder with the folders of all runs of a user, "" if the user has no home
// folder. lookup is [os.LookupEnv] outside tests.
func Folder(lookup func(string) (string, bool)) string {
	base, _ := lookup("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home := HomeFolder(lookup)
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "heldcall", "run")
}

// FolderOf returns the folder, in that of all runs, of the runs with a path: the folder in which they
// work, or their configuration file. It returns "" if all is "".
func FolderOf(all, path string) string {
	if all == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(all, hex.EncodeToString(sum[:8]))
}

// HomeFolder returns the home folder of the user, "" if there is none.
func HomeFolder(lookup func(string) (string, bool)) string {
	home, ok := lookup("HOME")
	if !ok {
		home, _ = lookup("USERPROFILE")
	}
	return home
}
