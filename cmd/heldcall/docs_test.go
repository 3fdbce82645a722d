package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every heldcall command that README.md and docs show is a valid command line.
func TestCommandsInTheDocumentation(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range documentedCommands(string(text)) {
			commands++
			parser := newParser(t.Context(), &streams{nil, io.Discard, io.Discard}, nil)
			if _, err := parser.Parse(command[1:]); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), strings.Join(command, " "), err)
			}
		}
	}
	if commands < 30 {
		t.Errorf("found %d commands", commands)
	}
}

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	shellWord  = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
)

// documentedCommands returns the words of the heldcall commands in the code blocks of a page,
// without comments, pipes and redirections.
func documentedCommands(page string) (commands [][]string) {
	for _, block := range shellBlock.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			var words []string
			for _, word := range shellWord.FindAllString(line, -1) {
				if strings.HasPrefix(word, "#") || strings.HasPrefix(word, ">") || word == "|" || word == "&" {
					break
				}
				words = append(words, strings.Trim(word, `'"`))
			}
			if len(words) > 1 && words[0] == "heldcall" {
				commands = append(commands, words)
			}
		}
	}
	return commands
}
