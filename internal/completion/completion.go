// Package completion writes scripts with which shells complete the command line of a
// program: its commands, their flags and the values that flags may have. The scripts are
// made of the program's own grammar, and ask no heldcall.
package completion

import (
	"embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

//go:embed bash.tmpl zsh.tmpl fish.tmpl
var files embed.FS

var scripts = template.Must(template.New("").Funcs(template.FuncMap{"quote": quote, "colons": colons}).ParseFS(files, "*.tmpl"))

// Shells are those that have a script.
const Shells = "bash,zsh,fish"

// Write writes the script of one of [Shells].
func Write(w io.Writer, shell string, program *kong.Application) error {
	if err := scripts.ExecuteTemplate(w, shell+".tmpl", tableOf(program)); err != nil {
		return fmt.Errorf("write the script for %s: %w", shell, err)
	}
	return nil
}

// table is the grammar of a program.
type table struct {
	Program  string
	Commands []command
	Valued   []string // flags whose value is the next word, in every command that has them
}

// Below returns the commands of the program, without the program itself.
func (t table) Below() []command { return t.Commands[1:] }

// command is a command and what may follow it.
type command struct {
	Path    string // its names, each after a space; "" for the program
	Words   []word // commands and the values of an argument
	Flags   []flag
	Foreign bool // after -- there is another command
}

// word is a word that may follow, or a value.
type word struct{ Text, Help string }

// flag is a flag of a command. Without values it is a switch, or its value is free.
type flag struct {
	Name, Help string // without the dashes
	Short      string // "": none
	Valued     bool
	Values     []string
}

func tableOf(program *kong.Application) table {
	t := table{Program: program.Name}
	t.add(program.Node, "")
	valued := map[string]bool{}
	for _, c := range t.Commands {
		for _, f := range c.Flags {
			names := []string{"--" + f.Name}
			if f.Short != "" {
				names = append(names, "-"+f.Short)
			}
			for _, name := range names {
				before, known := valued[name]
				valued[name] = f.Valued && (before || !known)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(valued)) {
		if valued[name] {
			t.Valued = append(t.Valued, name)
		}
	}
	return t
}

// add adds a command and those below it.
func (t *table) add(n *kong.Node, path string) {
	c := command{Path: path, Flags: flagsOf(n)}
	for _, child := range n.Children {
		if !child.Hidden {
			c.Words = append(c.Words, word{child.Name, child.Help})
		}
	}
	if n.DefaultCmd != nil { // its flags follow the name of its parent too
		for _, f := range flagsOf(n.DefaultCmd) {
			if !slices.ContainsFunc(c.Flags, func(other flag) bool { return other.Name == f.Name }) {
				c.Flags = append(c.Flags, f)
			}
		}
	}
	for _, p := range n.Positional {
		c.Foreign = c.Foreign || p.Passthrough
		for _, value := range values(p) {
			c.Words = append(c.Words, word{value, p.Help})
		}
	}
	t.Commands = append(t.Commands, c)
	for _, child := range n.Children {
		if !child.Hidden {
			t.add(child, path+" "+child.Name)
		}
	}
}

func flagsOf(n *kong.Node) (flags []flag) {
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			one := flag{Name: f.Name, Help: f.Help, Valued: !f.IsBool() && !f.IsCounter(), Values: values(f.Value)}
			if f.Short != 0 {
				one.Short = string(f.Short)
			}
			flags = append(flags, one)
		}
	}
	return flags
}

// values are those that an argument or a flag may have, none if they are free.
func values(v *kong.Value) (all []string) {
	for value := range strings.SplitSeq(v.Enum, ",") {
		if value != "" {
			all = append(all, value)
		}
	}
	return all
}

// quote writes a text for a shell, in single quotes.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// colons escapes what separates a word from its help in zsh.
func colons(text string) string { return strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(text) }
