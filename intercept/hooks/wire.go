package hooks

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/intercept"
)

// shells are the tools of Codex on the wire whose calls its hooks show as calls of Bash, with the field of their command.
var shells = map[string]string{"shell": "command", "shell_command": "command", "local_shell": "command", "exec_command": "cmd"}

// AsShown returns a call on the wire as the hook of its client shows it, if that differs: ok is false for others. The hook
// shows less than the call has, so only the id of the call tells that it is the same.
func AsShown(c intercept.Call) (as intercept.Call, ok bool) {
	field := shells[c.Name]
	var fields map[string]jsontext.Value
	if field == "" || c.FreeText || json.Unmarshal([]byte(c.Arguments), &fields) != nil {
		return as, false
	}
	var command string
	if json.Unmarshal(fields[field], &command) != nil {
		var words []string
		if json.Unmarshal(fields[field], &words) != nil || len(words) != 3 || !slices.Contains([]string{"-c", "-lc"}, words[1]) {
			return as, false
		}
		command = words[2]
	}
	text, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return as, false
	}
	return intercept.Call{ID: c.ID, Name: "Bash", Arguments: string(text)}, true
}
