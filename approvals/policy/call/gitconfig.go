package call

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// keyInGitConfig matches a setting of git that holds a password or a key: in a URL, or as a header.
var keyInGitConfig = regexp.MustCompile(`(?i)://[^/\s@]+@|extraheader|password|token`)

// isGitConfig reports whether a file is the settings of a repository. Nearly each search below a working tree meets one.
func isGitConfig(path string) bool {
	return filepath.Base(path) == "config" && filepath.Base(filepath.Dir(path)) == ".git"
}

// holdsKey reports whether the settings of a repository may hold a key.
func holdsKey(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 256<<10))
	return err != nil || len(text) == 256<<10 || keyInGitConfig.Match(text)
}
