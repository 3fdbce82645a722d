package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

var (
	//go:embed names.py
	pythonScript []byte
	//go:embed names.mjs
	nodeScript []byte
)

// typescript is the reader of the types of the Node packages.
const typescript = "typescript@5.9.3"

// pythonNames installs the newest packages for Python, and lists their names with samples.
func pythonNames(dir string) ([]byte, error) {
	python := filepath.Join(dir, "venv", "bin", "python")
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "names.py"), pythonScript, 0o600),
		install(dir, "python3", "-m", "venv", "venv"),
		install(dir, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "openai", "anthropic"),
	); err != nil {
		return nil, err
	}
	return output(dir, python, "names.py")
}

// nodeNames installs the newest packages for Node, and lists their names.
func nodeNames(dir string) ([]byte, error) {
	dir = filepath.Join(dir, "node")
	if err := errors.Join(
		os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true,"type":"module"}`), 0o600),
		os.WriteFile(filepath.Join(dir, "names.mjs"), nodeScript, 0o600),
		install(dir, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "openai@latest", "@anthropic-ai/sdk@latest", typescript),
	); err != nil {
		return nil, err
	}
	return output(dir, "node", "names.mjs")
}

func install(dir, name string, args ...string) error {
	_, err := output(dir, name, args...)
	return err
}

// output runs a command in a folder, and returns what it prints.
func output(dir, name string, args ...string) ([]byte, error) {
	command := exec.Command(name, args...)
	command.Dir = dir
	printed, err := command.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w\n%s", err, failed.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return printed, nil
}
