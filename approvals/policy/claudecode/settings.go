// Package claudecode hides the format of settings of Claude Code: it writes the permissions in such a file as a policy.
package claudecode

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Left is a part of a settings file that a policy cannot have.
type Left struct {
	What string // as the file has it
	Why  string // the rest of a sentence
}

// String is a line about it.
func (l Left) String() string { return l.What + ": " + l.Why }

// permissions are the members of a settings file that are read.
type permissions struct {
	Allow                 []string `json:"allow"`
	Ask                   []string `json:"ask"`
	Deny                  []string `json:"deny"`
	AdditionalDirectories []string `json:"additionalDirectories"`
}

// Import returns a policy with the permissions in a settings file, and what it could not take over. command is how it is
// made, for its first line. Relative paths in the settings count from the folder that holds .claude, if the file is in one.
func Import(command, file string, settings []byte) (text []byte, left []Left, err error) {
	var members struct {
		Permissions permissions `json:"permissions"`
	}
	var keys struct {
		Permissions map[string]jsontext.Value `json:"permissions"`
	}
	var all map[string]jsontext.Value
	for _, to := range []any{&members, &keys, &all} {
		if err := json.Unmarshal(settings, to); err != nil {
			return nil, nil, fmt.Errorf("read %s as settings of Claude Code: %w", file, err)
		}
	}
	s := members.Permissions
	whole, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, fmt.Errorf("find the folder of %s: %w", file, err)
	}
	im := &importer{}
	if folder := filepath.Dir(whole); filepath.Base(folder) == ".claude" {
		im.project = filepath.Dir(folder)
	}
	im.others(all, keys.Permissions)
	im.folders(s.AdditionalDirectories)
	lists := []list{
		{"deny", im.rules("deny", s.Deny)},
		{"ask", im.rules("ask", s.Ask)},
		{"allow", im.rules("allow", s.Allow)},
	}
	text = im.page(command, lists)
	if _, err := policy.Parse("policy.yaml", text); err != nil {
		return nil, nil, fmt.Errorf("write the permissions of %s as a policy: %w", file, err)
	}
	return text, im.left, nil
}

// list is the patterns of one kind of rule.
type list struct {
	name     string
	patterns []string
}

type importer struct {
	project   string // the folder of the project, or ""
	workspace []string
	left      []Left
}

func (im *importer) leave(what, why string) { im.left = append(im.left, Left{what, why}) }

// restricting are the keys of settings, beside permissions, that decide what may run.
var restricting = map[string]string{
	"hooks":   "hooks of Claude Code run beside heldcall, and are no rules",
	"sandbox": "heldcall confines no programs; the sandbox of Claude Code works beside it",
}

// others notes the keys that are not taken over.
func (im *importer) others(settings, permissions map[string]jsontext.Value) {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if why := restricting[key]; why != "" {
			im.leave(key, why)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(permissions)) {
		why := "heldcall has no such setting"
		switch key {
		case "allow", "ask", "deny", "additionalDirectories":
			continue
		case "defaultMode":
			why = "without a rule heldcall asks; to let edits pass write allow: [\"Edit(./**)\", \"Write(./**)\"], or begin with `heldcall policy init --workspace DIR`"
		}
		im.leave("permissions."+key+" "+string(permissions[key]), why)
	}
}

// folders finds the workspace: the project and the additional directories.
func (im *importer) folders(additional []string) {
	if im.project != "" {
		im.addFolder("the project "+im.project, im.project)
	}
	for _, text := range additional {
		what, folder := "permissions.additionalDirectories "+text, text
		below, inHome := strings.CutPrefix(text, "~/")
		switch home, err := os.UserHomeDir(); {
		case inHome && err == nil:
			folder = filepath.Join(home, below)
		case inHome || filepath.IsAbs(text):
		case im.project == "":
			im.leave(what, "it is relative, and the file is in no .claude folder of a project")
			continue
		default:
			folder = filepath.Join(im.project, text)
		}
		im.addFolder(what, folder)
	}
}

func (im *importer) addFolder(what, folder string) {
	if _, err := workspace.NewFolder(folder, im.project); err != nil {
		im.leave(what, err.Error())
		return
	}
	im.workspace = append(im.workspace, filepath.ToSlash(folder))
}

// rules returns the patterns for the rules of one list.
func (im *importer) rules(name string, rules []string) (patterns []string) {
	for _, rule := range rules {
		converted, why := im.convert(rule, name == "allow")
		for _, pattern := range converted {
			if why == "" {
				why = im.problem(name, pattern)
			}
		}
		if why != "" {
			im.leave(name+" "+rule, why)
			continue
		}
		patterns = append(patterns, converted...)
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// problem returns why a pattern can be in no list of a policy, or "".
func (im *importer) problem(name, pattern string) string {
	rules, err := policy.Parse("policy.yaml", im.page("", []list{{name, []string{pattern}}}))
	if err != nil {
		_, text, _ := strings.Cut(err.Error(), pattern+" ")
		return text
	}
	for _, check := range rules.CheckPatterns() {
		if check.Nothing != "" {
			return check.Nothing
		}
	}
	return ""
}

// fileTools are the tools that a rule with a path is for.
var fileTools = map[string][]string{
	"Read": {"Read", "Grep", "Glob", "LS", "NotebookRead"}, "Edit": {"Edit", "MultiEdit", "NotebookEdit", "Write"},
	"NotebookRead": {"NotebookRead"}, "Grep": {"Grep"}, "Glob": {"Glob"}, "LS": {"LS"},
	"MultiEdit": {"MultiEdit"}, "NotebookEdit": {"NotebookEdit"}, "Write": {"Write"},
}

// convert returns the patterns of a rule, or why it has none.
func (im *importer) convert(rule string, allows bool) (patterns []string, why string) {
	tool, argument, found := strings.Cut(rule, "(")
	argument, closed := strings.CutSuffix(argument, ")")
	if found && (!closed || argument == "") {
		return nil, "it is not of the form Tool(argument)"
	}
	tools, arguments := fileTools[tool], []string{argument}
	if tools != nil {
		arguments, why = im.paths(argument, allows)
	} else {
		tools = []string{tool}
		arguments[0], why = otherArgument(tool, argument, allows)
	}
	if why != "" {
		return nil, why
	}
	for _, tool := range tools {
		for _, argument := range arguments {
			pattern := tool
			if argument != "" {
				pattern += "(" + argument + ")"
			}
			patterns = append(patterns, pattern)
		}
	}
	return patterns, ""
}

// otherArgument returns the argument of a pattern for a tool that is not for files, "" for any, or why it has none.
func otherArgument(tool, argument string, allows bool) (text, why string) {
	switch {
	case argument == "*":
		return "", ""
	case tool == "WebFetch" && !allows:
		return strings.Replace(argument, "domain:*.", "domain:**.", 1), ""
	case argument != "" && allows && call.KnownProfiles().Find(tool) == nil:
		return "", "heldcall does not know the arguments of this tool: describe it under tools"
	}
	return argument, ""
}

// paths returns the arguments for a pattern of paths, which settings have in the form of gitignore.
func (im *importer) paths(pattern string, allows bool) (arguments []string, why string) {
	if strings.Trim(pattern, "*") == "" {
		if allows && len(im.workspace) > 0 {
			return []string{"./**"}, "" // a tool's name alone would cover what may hold secrets too
		}
		return []string{""}, ""
	}
	if pattern, why = im.anchored(pattern, allows); why != "" {
		return nil, why
	}
	folder, isFolder := strings.CutSuffix(pattern, "/")
	switch {
	case strings.HasSuffix(pattern, "/**") || (allows && !isFolder && strings.ContainsAny(path.Base(pattern), ".*")):
		return []string{pattern}, ""
	case isFolder:
		return []string{folder + "/**"}, ""
	}
	return []string{pattern, pattern + "/**"}, "" // a name may be that of a folder
}

// anchored returns a pattern of gitignore as one of a policy, or why it has none.
func (im *importer) anchored(pattern string, allows bool) (text, why string) {
	switch {
	case strings.HasPrefix(pattern, "!"):
		return "", "a policy has no exceptions with !: write an ask or deny rule for what is left out"
	case strings.HasPrefix(pattern, "//"):
		pattern = pattern[1:]
	case strings.HasPrefix(pattern, "/"):
		if im.project == "" {
			return "", "it is relative to the project, and the file is in no .claude folder of one"
		}
		pattern = "." + pattern
	case strings.HasPrefix(pattern, "~/"), strings.HasPrefix(pattern, "./"), strings.HasPrefix(pattern, "**"):
	case strings.HasPrefix(pattern, "../"):
		return "", "it leads out of the project: write an absolute path"
	case strings.Contains(strings.TrimSuffix(pattern, "/"), "/"):
		pattern = "./" + pattern
	case allows:
		pattern = "./**/" + pattern
	default:
		pattern = "**/" + pattern
	}
	return pattern, ""
}

// page returns a policy. Its first lines tell what was not taken over, if there is a command that makes it.
func (im *importer) page(command string, lists []list) []byte {
	var b bytes.Buffer
	if command != "" {
		fmt.Fprintf(&b, "# Made by `%s`.\n", sanitize.Line(command))
	}
	if command != "" && len(im.left) > 0 {
		b.WriteString("#\n# Not taken over:\n")
		for _, left := range im.left {
			fmt.Fprintf(&b, "#   - %s\n", sanitize.Line(left.String()))
		}
	}
	b.WriteString("language: 2\n")
	if len(im.workspace) > 0 {
		fmt.Fprintf(&b, "workspace: [%s]\n", strings.Join(quoted(im.workspace), ", "))
	}
	if !slices.ContainsFunc(lists, func(l list) bool { return len(l.patterns) > 0 }) {
		return b.Bytes()
	}
	b.WriteString("rules:\n")
	for _, l := range lists {
		if len(l.patterns) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  - %s:\n", l.name)
		for _, pattern := range quoted(l.patterns) {
			fmt.Fprintf(&b, "      - %s\n", pattern)
		}
	}
	return b.Bytes()
}

// quoted returns texts as items of a YAML list: JSON strings are YAML strings.
func quoted(texts []string) []string {
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = strconv.QuoteToASCII(text)
		if one, err := json.Marshal(text); err == nil {
			items[i] = string(one)
		}
	}
	return items
}
