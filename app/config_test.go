package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// environment is a lookup over fixed variables.
func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// load writes content to heldcall.yaml in a new folder and loads it. The
// folder's name is taken out of the error.
func load(t *testing.T, content string, env ...string) (Config, string, error) {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "heldcall.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := LoadConfig(file, environment(env...))
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), ""))
	}
	return config, folder, err
}

func TestConfigDefaultsAreValid(t *testing.T) {
	config, _, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if key := config.Proxy.Upstreams[0].APIKey; key != "" {
		t.Errorf("without OPENAI_API_KEY the key is %q, want none", string(key))
	}
	withKey, err := LoadConfig("", environment("OPENAI_API_KEY", "sk-1"))
	if err != nil {
		t.Fatal(err)
	}
	if key := withKey.Proxy.Upstreams[0].APIKey; string(key) != "sk-1" {
		t.Errorf("the default key is %q, want that of OPENAI_API_KEY", string(key))
	}
}

// The example in the design is a valid configuration, equal to the defaults.
func TestConfigOfTheDesignIsTheDefaults(t *testing.T) {
	config, folder, err := load(t, `
proxy:
  listen: 127.0.0.1:4141            # agents: base_url = http://127.0.0.1:4141/v1
  upstreams:
    - {prefix: /v1, url: https://api.openai.com/v1, api_key: ${OPENAI_API_KEY}}
  clients: []                       # {key|key_sha256, tenant, user, agent}
  trust_headers: false
  keepalive: 10s                    # while held
  heartbeat: auto
  max_body: 64MiB
  max_continuations: 8
hold: {mode: block, max_wait: 0s, orphan_ttl: 15m, max_stored: 1GiB}
console: {listen: 127.0.0.1:4142, url: "", reviewers: [], oidc: {}}
nats: {url: "", listen: 127.0.0.1:4143, dir: ./data}
policy: {mode: enforce}
notify: {}
audit: {retention: 90d}
log: {level: info, format: text}
`, "OPENAI_API_KEY", "sk-1")
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig(environment("OPENAI_API_KEY", "sk-1"))
	want.Proxy.Upstreams = want.Proxy.Upstreams[:1] // the design names one
	want.Proxy.Clients, want.Console.Reviewers = []Client{}, []Reviewer{}
	want.NATS.DirNamed, want.Proxy.UpstreamsNamed = true, true
	want.NATS.Dir = filepath.Join(folder, "data")
	want.Policy.File = filepath.Join(folder, "policy.yaml")
	if diff := cmp.Diff(want, config); diff != "" {
		t.Error(diff)
	}
}

func TestConfigReadsEveryKind(t *testing.T) {
	config, folder, err := load(t, `
proxy:
  upstreams:
    - prefix: /v1
      url: http://127.0.0.1:${PORT}/v1/
      api_key: "Bearer-${KEY}-$${KEY}"
    - {prefix: /local, url: 'http://[::1]:8080'}
  clients:
    - {key: ${KEY}, tenant: acme, user: ann, agent: coder}
    - {key_sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, agent: bot}
  trust_headers: true
  heartbeat: off
  max_body: 500kB
  routes: {allow: [/v1/realtime/**]}
hold: {max_wait: 2d}
nats: {url: "nats://a:4222, tls://b:4222", creds: heldcall.yaml, replicas: 3}
policy: {file: heldcall.yaml}
`, "PORT", "8081", "KEY", "a}: {b: &x *y\n#'\"")
	if err != nil {
		t.Fatal(err)
	}
	const key = "a}: {b: &x *y\n#'\""
	want := DefaultConfig(environment())
	want.Proxy.Upstreams = []Upstream{
		{Prefix: "/v1", URL: "http://127.0.0.1:8081/v1", APIKey: "Bearer-" + key + "-${KEY}", KeyHeader: "auto"},
		{Prefix: "/local", URL: "http://[::1]:8080", KeyHeader: "auto"},
	}
	want.Proxy.Clients = []Client{
		{Key: key, Tenant: "acme", User: "ann", Agent: "coder"},
		{KeySHA256: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", Agent: "bot"},
	}
	want.Proxy.TrustHeaders = true
	want.Proxy.Heartbeat = "off"
	want.Proxy.MaxBody = 500_000
	want.Proxy.Routes.Allow = []string{"/v1/realtime/**"}
	want.Hold.MaxWait = 48 * time.Hour
	want.NATS.URL, want.NATS.Replicas = "nats://a:4222, tls://b:4222", 3
	want.NATS.Creds = filepath.Join(folder, "heldcall.yaml")
	want.NATS.Dir = filepath.Join(folder, "data")
	want.Policy.File, want.Policy.FileNamed = filepath.Join(folder, "heldcall.yaml"), true
	want.Proxy.UpstreamsNamed = true
	if diff := cmp.Diff(want, config); diff != "" {
		t.Error(diff)
	}
}

func TestConfigProblems(t *testing.T) {
	f := func(content string, want ...string) {
		t.Helper()
		_, _, err := load(t, content, "SET", "value", "PORT", "x")
		if err == nil {
			t.Errorf("%q was accepted", content)
			return
		}
		if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
			t.Errorf("%q:\n%s", content, diff)
		}
	}
	f("tracing: {endpoint: \"http://h/v1/traces\"}\n", "heldcall.yaml:1: tracing.endpoint: ends in /v1/traces, which heldcall adds itself; write the URL without it")
	f("tracing: {endpoint: \"h:4318\", headers: [{name: \"a b\", value: c}]}\n",
		"heldcall.yaml:1: tracing.endpoint: is not a URL with a host; write for example http://host:port",
		"heldcall.yaml:1: tracing.headers[0]: is not a header; write {name: authorization, value: ${TOKEN}}")
	// The form.
	f("proxy:\n  listn: x\n", "heldcall.yaml:2: proxy.listn: unknown key; the keys here are listen, upstreams, clients, trust_headers, keepalive, heartbeat, max_body, memory, max_continuations, max_denials, routes, hosts, origins")
	f("proxy:\n  hosts: [box.lan, \"box:4141\", \"http://box\"]\n",
		"heldcall.yaml:2: proxy.hosts[1]: \"box:4141\" is not a host; write its name without scheme and port, such as host.docker.internal",
		"heldcall.yaml:2: proxy.hosts[2]: \"http://box\" is not a host; write its name without scheme and port, such as host.docker.internal")
	f("proxy:\n  origins: [\"https://app.example\", \"https://app.example/\", \"*\", \"null\"]\n",
		"heldcall.yaml:2: proxy.origins[1]: \"https://app.example/\" is not an origin; write scheme://host or scheme://host:port without a path, such as https://app.example or app://obsidian.md",
		"heldcall.yaml:2: proxy.origins[2]: \"*\" is not an origin; write scheme://host or scheme://host:port without a path, such as https://app.example or app://obsidian.md",
		"heldcall.yaml:2: proxy.origins[3]: null is the origin of every page that another site shows in a sandboxed frame: all of them could use the model; serve the page from a host, and name that")
	f("log: {level: info, level: warn}\n", "heldcall.yaml:1: log.level: is given twice, first in line 1; remove one")
	f("log: text\n", "heldcall.yaml:1: log: must be a mapping with the keys level, format, and is a single value")
	f("\nproxy: {upstreams: {prefix: /v1}}\n", "heldcall.yaml:2: proxy.upstreams: must be a list, and is a mapping")
	f("proxy: {keepalive: [1s]}\n", "heldcall.yaml:1: proxy.keepalive: must be a duration such as 10s, and is a list")
	f("log: &a {level: info}\n", "heldcall.yaml:1: log: anchors and aliases are not read; write the value out")
	f("log: {}\n---\nlog: {}\n", "heldcall.yaml:2: a second YAML document starts here; keep one")
	f("proxy:\n  clients: [${SET}\nlog: {}\n", "heldcall.yaml:2: not valid YAML: did not find expected ',' or ']'")
	f("log:\n\tlevel: info\n", "heldcall.yaml:2: not valid YAML: found character that cannot start any token; indent with spaces, not with tabs, and put quotes around such texts")
	f("a\n- b: \ue000SET\ue001\n", "heldcall.yaml:2: the private-use characters U+E000 and U+E001 are not allowed; remove them")
	// The values.
	f("proxy: {keepalive: 10}\n", `heldcall.yaml:1: proxy.keepalive: "10" is not a duration: write a number with a unit, such as 500ms, 10s, 15m, 1h or 90d`)
	f("hold: {max_wait: -1s}\n", `heldcall.yaml:1: hold.max_wait: "-1s" is negative`)
	f("audit: {retention: ninetyd}\n", `heldcall.yaml:1: audit.retention: "ninetyd" is not a number of days: write for example 90d`)
	f("proxy: {max_body: 64}\n", `heldcall.yaml:1: proxy.max_body: "64" has no unit that is known: write B, kB, KiB, MB, MiB, GB or GiB`)
	f("proxy: {max_body: 9999999999GiB}\n", `heldcall.yaml:1: proxy.max_body: "9999999999GiB" is too large`)
	f("proxy: {trust_headers: yes}\n", `heldcall.yaml:1: proxy.trust_headers: "yes" is not a boolean; write true or false`)
	f("proxy: {max_continuations: many}\n", `heldcall.yaml:1: proxy.max_continuations: "many" is not a whole number`)
	f("proxy: {max_continuations: 0}\n", `heldcall.yaml:1: proxy.max_continuations: 0 is less than 1: a model could never learn of a denial`)
	f("proxy: {heartbeat: loud}\n", `heldcall.yaml:1: proxy.heartbeat: "loud" is not known; write auto, comment, event or off`)
	f("proxy:\n  routes: {allow: [v1/x, '/[']}\n",
		`heldcall.yaml:2: proxy.routes.allow[0]: "v1/x" does not begin with /; write a path such as /v1/realtime/**`,
		`heldcall.yaml:2: proxy.routes.allow[1]: "/[" is not a pattern: a bracket or backslash has no end`)
	// The environment.
	f("nats: {dir: \"${UNSET}/${SET}/${ALSO_UNSET}\"}\n", "heldcall.yaml:1: nats.dir: the environment variable UNSET, ALSO_UNSET is not set; set it or write the value here")
	f("${SET}: 1\n", "heldcall.yaml:1: ${SET}: unknown key; the keys here are proxy, hold, runs, console, nats, policy, grants, secrets, notify, audit, log, tracing")
	// What cannot work.
	f("proxy:\n  listen: 4141\n", `heldcall.yaml:2: proxy.listen: "4141" is not host:port; write for example 127.0.0.1:4141`)
	f("proxy: {listen: \"127.0.0.1:${PORT}\"}\n", `heldcall.yaml:1: proxy.listen: "x" is not a port; write a number from 0 to 65535`)
	f("console: {listen: localhost:4141}\n", `heldcall.yaml:1: console.listen: is the address of proxy.listen; choose another port`)
	f("nats: {listen: 127.0.0.1:4142}\n", `heldcall.yaml:1: nats.listen: is the address of another listener; choose another port`)
	f("proxy: {upstreams: []}\n", "heldcall.yaml:1: proxy.upstreams: is empty; name at least one, or remove the key to use https://api.openai.com/v1")
	f("proxy:\n  upstreams:\n  - {prefix: /v1, url: \"http://a/v1\"}\n  - prefix: /V1\n    url: ftp://b\n",
		`heldcall.yaml:4: proxy.upstreams[1].prefix: "/V1" is also the prefix of proxy.upstreams[0]; each upstream needs its own`,
		`heldcall.yaml:5: proxy.upstreams[1].url: the scheme is "ftp"; write http or https`)
	f("proxy: {upstreams: [{prefix: /a/../b, url: \"https://u:hunter2@h\"}]}\n",
		`heldcall.yaml:1: proxy.upstreams[0].prefix: "/a/../b" is not a plain path; write for example /v1`,
		`heldcall.yaml:1: proxy.upstreams[0].url: holds a user or password, which would show in logs; remove it and use the keys meant for credentials`)
	f("proxy: {upstreams: [{prefix: /v1, url: \"http://127.0.0.1:4141/v1\"}]}\n",
		`heldcall.yaml:1: proxy.upstreams[0].url: is the address of proxy.listen: heldcall would call itself`)
	f("proxy: {clients: [{key: k, agent: a}, {key_sha256: 8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a}]}\n",
		"heldcall.yaml:1: proxy.clients[1]: has the key of proxy.clients[0]; each client needs its own")
	f("proxy: {clients: [{key: k}, {user: u}, {key_sha256: AB, user: u}]}\n",
		"heldcall.yaml:1: proxy.clients[0]: names no principal; give tenant, user or agent",
		"heldcall.yaml:1: proxy.clients[1]: give exactly one of key and key_sha256",
		"heldcall.yaml:1: proxy.clients[2].key_sha256: is not 64 lower-case hex digits; make it with: printf %s KEY | sha256sum")
	f("nats: {creds: c}\n", "heldcall.yaml:1: nats.creds: is for an external server; give nats.url too, or remove it")
	f("nats: {url: nats://h, nkey: heldcall.yaml, creds: heldcall.yaml, tls: {cert: heldcall.yaml}}\n",
		"heldcall.yaml:1: nats: give at most one of creds and nkey",
		"heldcall.yaml:1: nats.tls: cert and key belong together; give both")
	f("policy: {file: nowhere.yaml}\n", "heldcall.yaml:1: policy.file: cannot be read: stat nowhere.yaml: no such file or directory; create the file or name another")
	f("hold: {park_after: 0s}\n", "heldcall.yaml:1: hold.park_after: 0s is not above 0; write for example 50s")
	f("policy: {mode: loose}\n", `heldcall.yaml:1: policy.mode: "loose" is not known; write enforce or shadow`)
	f("notify: {slack: {}}\n", "heldcall.yaml:1: notify.slack: must be a list, and is a mapping")
	for _, listen := range []string{"0.0.0.0:4142", ":4142", "192.0.2.1:4142", "[::]:4142", "example.com:4142"} {
		f("console: {listen: \""+listen+"\"}\n", fmt.Sprintf(
			"heldcall.yaml:1: console.listen: %q is not a loopback address, and there are no console.reviewers to ask who may decide; add them, or write 127.0.0.1 in place of %q",
			listen, strings.Trim(strings.TrimSuffix(listen, ":4142"), "[]")))
	}
	// All at once, in the order of the file.
	f("log: {level: loud}\nhold:\n  park_after: 0s\nx: 1\n",
		`heldcall.yaml:1: log.level: "loud" is not known; write debug, info, warn or error`,
		"heldcall.yaml:3: hold.park_after: 0s is not above 0; write for example 50s",
		"heldcall.yaml:4: x: unknown key; the keys here are proxy, hold, runs, console, nats, policy, grants, secrets, notify, audit, log, tracing")
}

// Who decides in another terminal has neither the keys nor the files of the
// proxy.
func TestConsoleConfigNeedsNoSecrets(t *testing.T) {
	const rest = "proxy: {upstreams: [{prefix: /v1, url: \"${UNSET}\", api_key: ${UNSET}}]}\npolicy: {file: nowhere.yaml}\n"
	console, err := LoadConsoleConfig(writeFile(t, rest+"console: {listen: 127.0.0.1:5000}"), environment())
	if err != nil || console.Listen != "127.0.0.1:5000" {
		t.Errorf("console is %+v, %v", console, err)
	}
	for _, content := range []string{rest + "console: {listen: \"${UNSET}\"}", "console: ["} {
		if _, err := LoadConsoleConfig(writeFile(t, content), environment()); err == nil {
			t.Errorf("%q was accepted", content)
		}
	}
}

func TestConfigFileThatIsNotThere(t *testing.T) {
	_, err := LoadConfig(filepath.Join(t.TempDir(), "no.yaml"), environment())
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "no.yaml") {
		t.Errorf("error is %v, want one that names the file", err)
	}
}

// Promise 8: secrets stay.
func TestSecretIsNeverPrinted(t *testing.T) {
	config := DefaultConfig(environment("OPENAI_API_KEY", "hunter2"))
	config.Proxy.Clients = []Client{{Key: "hunter2"}}
	encoded, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("start", "key", config.Proxy.Upstreams[0].APIKey, "config", config)
	shown := []string{string(encoded), logged.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, config), fmt.Sprintf(verb, &config.Proxy.Upstreams[0]))
	}
	for _, text := range shown {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("the secret shows in %s", text)
		}
	}
	if !strings.Contains(logged.String(), "key=<secret>") {
		t.Errorf("the log does not show that there is a secret: %s", logged.String())
	}
}

// Any file gives a configuration or problems with their places, and an environment value
// is never parsed as YAML.
func FuzzConfig(f *testing.F) {
	f.Add("proxy: {listen: ${X}}", "a: b")
	f.Add("log: {level: info}\nlog: *a", "")
	f.Add("a: &a [*a]", "\n- x")
	f.Add("? [x]\n: y\n<<: {a: 1}", "}")
	f.Fuzz(func(t *testing.T, content, value string) {
		file := filepath.Join(t.TempDir(), "heldcall.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadConfig(file, environment("X", value))
		if problems := strictyaml.Errors(nil); err != nil && (!errors.As(err, &problems) || len(problems) == 0) {
			t.Errorf("error %v does not list problems", err)
		}
		config, err := LoadConfig(writeFile(t, "proxy: {clients: [{key: ${X}, user: \"u${X}\"}]}"), environment("X", "k"+value))
		if err != nil || string(config.Proxy.Clients[0].Key) != "k"+value || config.Proxy.Clients[0].User != "uk"+value {
			t.Errorf("value %q was read as %+v (%v)", value, config.Proxy.Clients, err)
		}
	})
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "heldcall.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPathsOfTheHomeFolder: a path in the configuration that begins with ~/ is below the user's home, and an error where that
// is not known.
func TestPathsOfTheHomeFolder(t *testing.T) {
	home := t.TempDir()
	content := "nats: {dir: ~/hc}\naudit: {dir: \"~/hc.audit\"}\nsecrets: {key_file: ~/.heldcall/key}\nproxy: {clients: [{key: k, user: ann, workspace: [\"~/app\", app]}]}\n"
	t.Setenv("HOME", home)
	file := writeFile(t, content)
	config, err := LoadConfig(file, environment())
	if err != nil {
		t.Fatal(err)
	}
	got := append(config.Proxy.Clients[0].Workspace, config.NATS.Dir, config.Audit.Dir, config.Secrets.KeyFile)
	want := []string{filepath.Join(home, "app"), filepath.Join(filepath.Dir(file), "app"), filepath.Join(home, "hc"), filepath.Join(home, "hc.audit"), filepath.Join(home, ".heldcall/key")}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	t.Setenv("HOME", "")
	if _, err := LoadConfig(file, environment()); err == nil || !strings.Contains(err.Error(), "nats.dir: begins with ~/") || !strings.Contains(err.Error(), "proxy.clients[0].workspace[0]: begins with ~/") {
		t.Errorf("without a home folder: %v", err)
	}
}

// TestSettingsWithoutEffect: nats.dir beside nats.url is warned of.
func TestSettingsWithoutEffect(t *testing.T) {
	for content, want := range map[string]string{
		"nats: {dir: data}":                                                    "",
		"nats: {url: \"nats://127.0.0.1:4222\"}":                               "",
		"nats: {url: \"nats://127.0.0.1:4222\", dir: data}":                    "set audit.dir",
		"nats: {url: \"nats://127.0.0.1:4222\", dir: data}\naudit: {dir: log}": "remove it",
	} {
		config, err := LoadConfig(writeFile(t, content), environment())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(config.Warnings(), ""); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
}
