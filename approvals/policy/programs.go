package policy

import (
	"path"
	"strings"
)

// programName is the name under which programs are known here: without folder,
// .exe, version and letter case.
func programName(word string) string {
	name := strings.TrimSuffix(strings.ToLower(path.Base(word)), ".exe")
	if base := strings.TrimRight(name, "0123456789.-"); base != "" {
		return base
	}
	return name
}

// runsOthers reports whether a program runs other programs or the text it is
// given, by what it does. An allow pattern covers it only if it spells out the
// whole command. Programs of which only some options do so need not be here, as
// no * stands for an option.
func runsOthers(word string) bool {
	switch programName(word) {
	case "env", "sudo", "doas", "su", "runuser", "pkexec", "command", "exec", "builtin", "time", "timeout", "nohup",
		"nice", "ionice", "chrt", "taskset", "setsid", "stdbuf", "chroot", "unshare", "nsenter", "flock", "script",
		"watch", "strace", "ltrace", "gdb", "xargs", "parallel", "find", "fd", "entr", "busybox", "toybox",
		"ssh", "scp", "sftp", "rsync", "docker", "podman", "nerdctl", "kubectl", "systemd-run", "crontab", "at",
		"batch", "tmux", "screen", "expect", "npx", "pnpx", "bunx", "uvx", "uv", "pipx",
		"make", "gmake", "cmake", "ninja", "tar", "sed", "ed", "ex", "vi", "vim", "nvim", "emacs", "nano",
		"less", "more", "man":
		return true
	case "eval", "source", ".", "trap", "alias", "unalias", "set", "shopt", "enable", "hash", "unset", "read",
		"mapfile", "readarray", "getopts", "bind", "complete", "coproc", "fc", "history", "export", "declare",
		"typeset", "local", "readonly": // the shell itself, and what later words of it mean
		return true
	}
	return isInterpreter(word)
}

// isInterpreter reports whether a program runs what it is given as a script or
// reads on its input.
func isInterpreter(word string) bool {
	switch programName(word) {
	case "sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd",
		"python", "pypy", "ipython", "node", "nodejs", "deno", "bun", "ruby", "irb", "perl", "php", "lua", "luajit",
		"tclsh", "wish", "r", "rscript", "julia", "ghci", "awk", "gawk", "mawk", "nawk", "osascript", "groovy",
		"scala", "jshell", "sqlite", "psql", "mysql":
		return true
	}
	return false
}
