package main

import (
	"github.com/alecthomas/kong"

	"github.com/heldcall/heldcall/internal/completion"
)

type completionCommand struct {
	Shell string `arg:"" enum:"${shells}" help:"bash, zsh or fish."`
}

// Help shows how the script is used.
func (completionCommand) Help() string {
	return `bash: source <(heldcall completion bash), in ~/.bashrc
zsh:  source <(heldcall completion zsh), in ~/.zshrc after compinit
fish: heldcall completion fish >~/.config/fish/completions/heldcall.fish`
}

// Run writes the script of a shell.
func (c *completionCommand) Run(parsed *kong.Context, s *streams) error {
	return completion.Write(s.out, c.Shell, parsed.Model)
}
