package demo

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// project is the content of an agent's folder at the start.
var project = map[string]string{
	".env":             "TOKEN=only-a-demo\n",
	"cache/index.bin":  "0123456789",
	"cache/thumbs.bin": "0123456789",
	"drafts/plan.txt":  "Half a plan.\n",
	"notes.txt":        "Call Ann.\n",
	"report.txt":       "All is well.\n",
}

// toolDefinitions are the tools that the agent offers the model.
const toolDefinitions = `[
{"type":"function","function":{"name":"list_files","description":"List the files of the project.","parameters":{"type":"object","properties":{},"additionalProperties":false}}},
{"type":"function","function":{"name":"read_file","description":"Read a file of the project.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}},
{"type":"function","function":{"name":"write_file","description":"Write a file of the project.","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}}},
{"type":"function","function":{"name":"run_command","description":"Run rm, cp or upload in the project.","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"],"additionalProperties":false}}}
]`

// toolbox runs tools in one folder, which they cannot leave.
type toolbox struct{ root *os.Root }

// newToolbox lays out the project in a new folder.
func newToolbox(folder string) (*toolbox, error) {
	for name, content := range project {
		file := path.Join(folder, name)
		if err := os.MkdirAll(path.Dir(file), 0o700); err != nil {
			return nil, fmt.Errorf("lay out the project: %w", err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return nil, fmt.Errorf("lay out the project: %w", err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the project: %w", err)
	}
	return &toolbox{root}, nil
}

// run carries out one call. What goes wrong is the result, as the model is to
// read it.
func (t *toolbox) run(tool, arguments string) string {
	var args struct{ Path, Content, Command string }
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return "failed: " + err.Error()
	}
	result, err := "", error(nil)
	switch tool {
	case "list_files":
		result = strings.Join(t.files(), " ")
	case "read_file":
		var content []byte
		content, err = t.root.ReadFile(args.Path)
		result = string(content)
	case "write_file":
		err = t.root.WriteFile(args.Path, []byte(args.Content), 0o600)
		result = "wrote " + args.Path
	case "run_command":
		err = t.command(strings.Fields(args.Command))
		result = "ran " + args.Command
	default:
		err = fmt.Errorf("there is no tool %q", tool)
	}
	if err != nil {
		return "failed: " + err.Error()
	}
	return result
}

// command knows the few programs of the demo. None of them leaves the folder.
func (t *toolbox) command(words []string) error {
	switch {
	case len(words) == 3 && words[0] == "cp":
		content, err := t.root.ReadFile(words[1])
		if err != nil {
			return err
		}
		return t.root.WriteFile(words[2], content, 0o600)
	case len(words) == 3 && words[0] == "upload": // of which the demo has no server
		_, err := t.root.Stat(words[1])
		return err
	case len(words) > 1 && words[0] == "rm":
		remove, names := t.root.Remove, words[1:]
		if names[0] == "-r" || names[0] == "-rf" {
			remove, names = t.root.RemoveAll, names[1:]
		}
		for _, name := range names {
			if err := remove(name); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("the demo's agent runs only `rm FILE...`, `rm -r FOLDER...`, `cp FROM TO` and `upload FILE TOKEN`")
}

// files are the project's files, sorted.
func (t *toolbox) files() (names []string) {
	_ = fs.WalkDir(t.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return nil // what has gone meanwhile is no longer a file
	})
	return names
}
