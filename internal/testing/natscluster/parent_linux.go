package natscluster

import (
	"os/exec"
	"syscall"
)

// endWithParent lets a process end with a test program that is killed, and keeps the
// signals of a terminal away from it.
func endWithParent(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
