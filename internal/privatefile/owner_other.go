//go:build !unix

package privatefile

import "io/fs"

const hasModes = false

func isOwn(fs.FileInfo) bool { return true }
