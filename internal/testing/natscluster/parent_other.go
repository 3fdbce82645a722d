//go:build unix && !linux

package natscluster

import "os/exec"

// endWithParent does nothing: only Linux can do it.
func endWithParent(*exec.Cmd) {}
