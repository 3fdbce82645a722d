//go:build check

// Package heldcall_test holds the shape of the code: which package stands on
// which floor, and which of them may use which library.
package heldcall_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/heldcall/heldcall"

// floors are the packages from bottom to top. A package imports only what stands
// on a lower floor. A name that ends in /... stands for a whole tree.
var floors = [][]string{
	{
		"approvals",
		"approvals/edits",
		"approvals/toolschema",
		"console/openapi",
		"intercept/sse",
		"intercept/strictjson",
		"internal/completion",
		"internal/filelock",
		"internal/humanize",
		"internal/memory",
		"internal/privatefile",
		"internal/recent",
		"internal/sanitize",
		"internal/strictyaml",
		"internal/telemetry",
		"internal/testing/authenticator",
		"internal/testing/cassettes",
		"internal/testing/cost",
		"internal/testing/fakeidp",
		"internal/testing/fakeproxy",
		"internal/testing/fakeslack",
		"internal/testing/golden",
		"internal/testing/testdeps",
		"internal/toolname",
		"internal/weborigin",
		"notify/webpush/pushtest",
		"proxy/coding",
	},
	{
		"approvals/audit",
		"approvals/grants",
		"approvals/heldturns",
		"approvals/policy/match",
		"approvals/policy/shell/programs",
		"approvals/reviewers",
		"approvals/runs",
		"approvals/store/natskv",
		"approvals/store/requestindex",
		"cmd/heldcall/internal/discovery",
		"console/live",
		"console/problem",
		"intercept/notice",
		"intercept/outline",
		"intercept/toolresult",
		"internal/mask",
		"internal/testing/fakemodel", "internal/testing/fakesocket",
		"notify",
		"proxy/agentconn",
	},
	{
		"approvals/policy/shell",
		"approvals/policy/workspace",
		"approvals/questions",
		"approvals/store/subjects",
		"console/client",
		"console/inbox",
		"console/oidc",
		"console/passkeys",
		"intercept",
		"internal/testing/apidoc",
		"internal/testing/memstore",
		"internal/testing/natscluster",
		"notify/shoutrrr",
		"notify/webpush",
	},
	{
		"approvals/gate",
		"approvals/policy/call",
		"approvals/policy/starter",
		"approvals/secrets",
		"approvals/store/embedded",
		"console/watch",
		"intercept/hooks",
		"intercept/intercepttest",
		"intercept/wrapped",
		"proxy/packed",
	},
	{
		"approvals/policy/effects",
		"approvals/policy/rule",
		"approvals/store",
		"console",
		"intercept/chat",
		"intercept/messages",
		"intercept/responses",
		"notify/nats",
		"notify/nats/contracttest",
		"notify/slack",
		"notify/webhook",
		"proxy/conversation",
		"proxy/upstream",
	},
	{
		"approvals/approvalstest",
		"approvals/policy",
		"notify/notifytest",
		"proxy/parking",
	},
	{
		"approvals/judge",
		"approvals/policy/cases",
		"approvals/policy/claudecode",
		"internal/testing/storetest",
		"internal/textview",
		"proxy/hosted",
		"proxy/trace",
	},
	{
		"internal/policylearn",
		"proxy/exchange",
		"proxy/inner",
		"proxy/results",
	},
	{
		"proxy/turn",
	},
	{
		"proxy/socket",
	},
	{
		"proxy",
	},
	{
		"app",
	},
	{
		"cmd/heldcall/internal/launch",
		"internal/demo",
	},
	{
		"cmd/heldcall",
	},
	{
		"dashboards",
		"examples/...",
		"internal/testing/agents",
		"internal/testing/attention",
		"internal/testing/bench",
		"internal/testing/clients/...",
		"internal/testing/conformance",
		"internal/testing/faults",
		"internal/testing/runtests",
		"internal/testing/types",
		"internal/testing/ui",
	},
}

// programs are packages that no other imports: examples, and the checks that measure
// heldcall from outside and bring plain servers and clients of their own.
const programs = 14

// tied are libraries that only some packages use, besides the programs.
var tied = []struct {
	library string
	users   []string
}{
	{"github.com/valyala/fasthttp", []string{"proxy", "proxy/upstream"}},
	{"charm.land", []string{"console/watch"}},
	{"github.com/nats-io", []string{"approvals/store", "approvals/store/embedded", "approvals/store/natskv", "notify/nats", "internal/demo"}}, // the demo has a bot
	{"go.opentelemetry.io/otel/sdk", []string{"internal/telemetry"}},
	{"go.opentelemetry.io/otel/exporters", []string{"internal/telemetry"}},
	{"github.com/slack-go/slack", []string{"notify/slack"}},
	{"github.com/nicholas-fedor/shoutrrr", []string{"notify/shoutrrr"}},
	{"filippo.io/age", []string{"approvals/secrets"}},
	{"github.com/molecule-man/go-brrr", []string{"proxy/coding"}},
	{"go.etcd.io/bbolt", []string{"approvals/store/requestindex"}},
	{"mvdan.cc/sh", []string{"approvals/policy/shell"}},
	{"github.com/coreos/go-oidc", []string{"console/oidc"}},
	{"github.com/go-webauthn/webauthn", []string{"console/passkeys"}},
	{"golang.org/x/net/http/httpproxy", []string{"proxy/upstream"}},
	{"golang.org/x/net/proxy", []string{"proxy/upstream"}},
	{"golang.org/x/oauth2", []string{"console/oidc"}},
	{"github.com/santhosh-tekuri/jsonschema", []string{"approvals/toolschema", "internal/testing/apidoc"}},
	{"cel.dev", []string{"approvals/policy/rule"}},
	{"github.com/google/cel-go", []string{"approvals/policy/rule"}},
}

// listed is what the Go tool says of a package. Imports are those of the package
// itself; its tests may import anything.
type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsPointDownwards(t *testing.T) {
	for _, p := range packages(t) {
		name := local(p.ImportPath)
		floor := floorOf(name)
		if floor < 0 {
			t.Errorf("%s stands on no floor; add it to floors in arch_test.go, above all that it imports", name)
			continue
		}
		for _, path := range p.Imports {
			if !strings.HasPrefix(path, module+"/") {
				continue
			}
			if imported := local(path); floorOf(imported) >= floor {
				t.Errorf("%s (floor %d) imports %s (floor %d); imports go to lower floors only", name, floor, imported, floorOf(imported))
			}
		}
	}
}

func TestLibrariesStayWhereTheyBelong(t *testing.T) {
	for _, p := range packages(t) {
		name := local(p.ImportPath)
		if floorOf(name) == programs {
			continue
		}
		for _, rule := range tied {
			uses := slices.ContainsFunc(p.Imports, func(path string) bool {
				return path == rule.library || strings.HasPrefix(path, rule.library+"/")
			})
			if uses && !slices.Contains(rule.users, name) {
				t.Errorf("%s imports %s; only %s may", name, rule.library, strings.Join(rule.users, " and "))
			}
		}
	}
}

// A floor that names a package which is gone would let one of that name in.
func TestFloorsNameWhatThereIs(t *testing.T) {
	var names []string
	for _, p := range packages(t) {
		names = append(names, local(p.ImportPath))
	}
	for _, floor := range floors {
		for _, entry := range floor {
			if !slices.ContainsFunc(names, func(name string) bool { return stands(entry, name) }) {
				t.Errorf("floors names %s, and there is no such package", entry)
			}
		}
	}
}

// packages lists those of this module, with the tags that any of them need.
func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "-tags=clients", "./...").Output()
	if err != nil {
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			t.Fatalf("go list: %v\n%s", err, failed.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("go list: %v", err)
		case p.ImportPath != module: // the folder of this test has no package to build
			all = append(all, p)
		}
	}
}

func local(path string) string { return strings.TrimPrefix(path, module+"/") }

// floorOf is the floor of a package, counted from 0, or -1.
func floorOf(name string) int {
	return slices.IndexFunc(floors, func(floor []string) bool {
		return slices.ContainsFunc(floor, func(entry string) bool { return stands(entry, name) })
	})
}

// stands reports whether an entry of floors stands for a package.
func stands(entry, name string) bool {
	if tree, ok := strings.CutSuffix(entry, "/..."); ok {
		return name == tree || strings.HasPrefix(name, tree+"/")
	}
	return name == entry
}
