//go:build unix

package privatefile

import (
	"io/fs"
	"os"
	"syscall"
)

// hasModes is true where the mode of a file says who can use it.
const hasModes = true

// isOwn reports whether a file belongs to the user of this process.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}
