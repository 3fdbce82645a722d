// Package discovery is how commands and other runs of a user find a `heldcall run` that serves:
// by a socket in the folder of its state, which that user alone can open. The socket names
// addresses, proves that it knows a token, and attaches agents. It has no token, and decides
// nothing.
//
// Read messages.go (the wire), server.go and attach.go (the run that serves), client.go
// (those that look for it).
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
	maxSocket  = 100 // bytes of the name of a socket, which systems limit to 104 and more
)

// withSocket calls use with a name of the socket in a folder. A long name is shortened by a link, which is
// there for that time only.
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

// Folder returns the folder that holds the folders of all runs of a user, "" if the user has no
// home folder. lookup is [os.LookupEnv] outside tests.
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

// Of returns the folder of one run in the folder of all: that of the runs in a folder, or with a
// configuration file. "" stays "".
func Of(all, path string) string {
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

// Claim is the right of one process to serve in a folder.
type Claim struct {
	folder string
	lock   *os.File
}
