//go:build check

package heldcall_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/proxy"
)

const reference = "docs/configuration.md"

// needed is a configuration with one item of every list, and of it only what must be
// given: whatever else an item has is its default.
const needed = `
proxy:
  upstreams: [{prefix: /v1, url: "https://api.openai.com/v1"}]
  clients: [{key: k, key_sha256: "", user: u, agent: ""}]
console:
  url: https://heldcall.example
  reviewers: [{name: ann, token_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}]
  oidc:
    issuer: https://login.example
    client_id: heldcall
    email_domains: [example.com]
    memberships: [{group: staff}]
notify:
  slack: [{bot_token: xoxb-1, channel: C1}]
  webhooks: [{url: "https://bot.example", secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]}]
  shoutrrr: [{url: "ntfy://ntfy.sh/calls"}]
  routes: [{to: [slack]}]
grants:
  templates: [{name: tests, action: allow, patterns: ["bash(npm test)"]}]
tracing:
  headers: [{name: authorization, value: x}]
`

// elsewhere are defaults that other parts of heldcall, or other keys, stand in for.
var elsewhere = map[string]string{
	"proxy.upstreams":           "OpenAI, Anthropic",
	"proxy.upstreams[].api_key": "`${OPENAI_API_KEY}` and `${ANTHROPIC_API_KEY}` for the default upstreams, if they are set",
	"proxy.clients[].tenant":    "`" + proxy.DefaultTenant + "`",
	"console.reviewers[].user":  "the name",
	"console.push.contact":      "`console.url`",
	"nats.auth":                 "`reviewers` once there are reviewers, else `open`",
	"notify.slack[].api_url":    "`https://slack.com/api/`",
	"grants.templates[].title":  "the name",
}

// configKey is a key of the configuration as the code has it.
type configKey struct{ path, kind, fallback string }

// The reference has every key with its type and default, and no other key. What a
// key is for is written there by hand.
func TestConfigurationIsDocumented(t *testing.T) {
	keys := configKeys(t)
	page := read(t, reference)
	documented := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9_.\\[\\]]+)` \\|.*$")
	want := row.ReplaceAllStringFunc(page, func(line string) string {
		path := row.FindStringSubmatch(line)[1]
		at := slices.IndexFunc(keys, func(k configKey) bool { return k.path == path })
		cells := cellsOf(line)
		if at < 0 || documented[path] || len(cells) != 4 || cells[3] == "" {
			t.Errorf("%s: the row of %s is of no key, its second, or not key, type, default and meaning:\n%s", reference, path, line)
			return line
		}
		documented[path] = true
		cells[1], cells[2] = keys[at].kind, keys[at].fallback
		return strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |", "|  |", "| |")
	})
	for _, key := range keys {
		if !documented[key.path] {
			t.Errorf("%s does not have the key %s: write \"| `%s` | %s | %s | what it is for |\"", reference, key.path, key.path, key.kind, key.fallback)
		}
	}
	is := strings.Split(page, "\n")
	for i, line := range strings.Split(want, "\n") {
		if line != is[i] {
			t.Errorf("%s:%d is not what the code says:\n code %s\n page %s", reference, i+1, line, is[i])
		}
	}
}

// cellsOf are the cells of a row. A bar in a cell stands behind a backslash.
func cellsOf(line string) []string {
	const bar = "\x00"
	cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, bar), "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cell, bar, `\|`))
	}
	return cells
}

// configKeys are all keys but those that only hold others.
func configKeys(t *testing.T) []configKey {
	t.Helper()
	file := filepath.Join(t.TempDir(), "heldcall.yaml")
	if err := os.WriteFile(file, []byte(needed), 0o600); err != nil {
		t.Fatal(err)
	}
	nothing := func(string) (string, bool) { return "", false }
	loaded, err := app.LoadConfig(file, nothing)
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal([]byte(needed), &document); err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	paths(document, "", given)
	var keys []configKey
	collect(reflect.ValueOf(app.DefaultConfig(nothing)), reflect.ValueOf(loaded), "", "", func(path string, field reflect.Value, kind string) {
		key := configKey{path, kind, ""}
		if words, ok := elsewhere[path]; ok {
			key.fallback = words
		} else if !given[path] || !strings.Contains(path, "[]") {
			key.fallback = shown(field)
		}
		keys = append(keys, key)
	})
	for path := range elsewhere {
		if !slices.ContainsFunc(keys, func(k configKey) bool { return k.path == path }) {
			t.Errorf("elsewhere has %s, which is no key", path)
		}
	}
	return keys
}

// paths are those of all scalars and lists of scalars in a document.
func paths(node any, path string, into map[string]bool) {
	switch n := node.(type) {
	case map[string]any:
		for name, value := range n {
			paths(value, strings.TrimPrefix(path+"."+name, "."), into)
		}
	case []any:
		if fields, ok := n[0].(map[string]any); ok {
			paths(fields, path+"[]", into)
			return
		}
		into[path] = true
	default:
		into[path] = true
	}
}

// collect visits every key with its default: outside of lists that of the default
// configuration, in their items that of an item of a loaded one.
func collect(value, loaded reflect.Value, path string, tag reflect.StructTag, visit func(string, reflect.Value, string)) {
	t := value.Type()
	switch {
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if key := t.Field(i).Tag.Get("yaml"); key != "-" {
				collect(value.Field(i), loaded.Field(i), strings.TrimPrefix(path+"."+key, "."), t.Field(i).Tag, visit)
			}
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		visit(path, value, "list")
		collect(loaded.Index(0), loaded.Index(0), path+"[]", "", visit)
	default:
		visit(path, value, kindOf(t, tag))
	}
}

// kindOf says what a value is written as.
func kindOf(t reflect.Type, tag reflect.StructTag) string {
	if values := strings.Fields(tag.Get("oneof")); len(values) > 0 {
		last := len(values) - 1
		return "`" + strings.Join(values[:last], "`, `") + "` or `" + values[last] + "`"
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[strictyaml.Size]():
		return "size"
	case reflect.TypeFor[app.Secret]():
		return "secret"
	}
	switch t.Kind() {
	case reflect.Slice:
		return "list of " + kindOf(t.Elem(), "") + "s"
	case reflect.Bool:
		return "`true` or `false`"
	case reflect.Int:
		return "number"
	}
	return "text"
}

// shown is a default as the file would have it; "" for an empty text.
func shown(value reflect.Value) string {
	text := ""
	switch v := value.Interface().(type) {
	case app.Secret:
		return ""
	case time.Duration:
		text = shortest(v)
	case []string:
		text = "[" + strings.Join(v, ", ") + "]"
	default:
		if value.Kind() == reflect.Slice {
			text = "[]"
		} else {
			text = fmt.Sprint(v)
		}
	}
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// shortest writes a duration in its largest whole unit.
func shortest(d time.Duration) string {
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if n := d / unit.is; n > 0 && d%unit.is == 0 && (unit.name != "d" || n > 1) {
			return fmt.Sprint(int64(n)) + unit.name
		}
	}
	return fmt.Sprint(int64(d/time.Second)) + "s"
}

// The variables of the environment that the program reads are those in the reference.
// Where agents keep their own files is theirs to document.
func TestEnvironmentIsDocumented(t *testing.T) {
	agents := []string{"HOME", "USERPROFILE", "CODEX_HOME", "CLAUDE_CONFIG_DIR"}
	_, section, found := strings.Cut(read(t, reference), "## Environment")
	if !found {
		t.Fatalf("%s has no section Environment", reference)
	}
	var documented, used []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[A-Z_`, ]+) \\|").FindAllStringSubmatch(section, -1) {
		documented = append(documented, strings.Fields(strings.NewReplacer("`", "", ",", "").Replace(row[1]))...)
	}
	for _, folder := range []string{"cmd/heldcall", "cmd/heldcall/internal/discovery", "cmd/heldcall/internal/launch", "app", "internal/telemetry"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			if strings.HasSuffix(file, "launch/model.go") { // a table of variables
				for _, name := range regexp.MustCompile(`"([A-Z]+(?:_[A-Z]+)+)"`).FindAllStringSubmatch(read(t, file), -1) {
					used = append(used, name[1])
				}
			}
			for _, name := range regexp.MustCompile(`(?:env:|Getenv\(|LookupEnv\(|lookup\()"([A-Z_]+)"`).FindAllStringSubmatch(read(t, file), -1) {
				used = append(used, name[1])
			}
		}
	}
	for _, name := range used {
		if !slices.Contains(documented, name) && !slices.Contains(agents, name) {
			t.Errorf("%s does not have the variable %s", reference, name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(used, name) {
			t.Errorf("%s has the variable %s, which nothing reads", reference, name)
		}
	}
}
