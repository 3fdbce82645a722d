//go:build check

package heldcall_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals/policy"
)

// What the documentation shows as a file is one that works, and the one that
// shows the defaults has them.
func TestFilesInTheDocumentationAreValid(t *testing.T) {
	lookup := func(name string) (string, bool) {
		return "key", name == "OPENAI_API_KEY" || name == "ANTHROPIC_API_KEY" || name == "OIDC_CLIENT_SECRET" || name == "PROXY_PASSWORD"
	}
	files := 0
	for _, page := range pages(t) {
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
			if strings.HasPrefix(block[1], "# prometheus.yml") {
				continue // `make observe` has one like it
			}
			files++
			if policyPage.MatchString(page) || strings.HasPrefix(block[1], "# policy.yaml") || strings.Contains(block[1], "rules:") || strings.Contains(block[1], "hosted_tools:") || strings.Contains(block[1], "questions:") {
				if _, err := policy.Parse(page, []byte(block[1])); err != nil {
					t.Errorf("%s shows a policy that is not valid: %v", page, err)
				}
				continue
			}
			dir := t.TempDir()
			for name, content := range map[string]string{"heldcall.yaml": block[1], "policy.yaml": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := app.LoadConfig(filepath.Join(dir, "heldcall.yaml"), lookup)
			if err != nil {
				t.Errorf("%s shows a configuration that is not valid: %v", page, err)
			}
			if want := app.DefaultConfig(lookup); strings.Contains(block[1], "retention") {
				got.NATS.Dir, got.NATS.DirNamed, got.Policy.File = want.NATS.Dir, false, want.Policy.File // relative to the file
				got.Proxy.Clients, got.Proxy.Routes.Allow, got.Proxy.Hosts, got.Proxy.Origins, got.Proxy.UpstreamsNamed = nil, nil, nil, nil, false
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s shows other defaults than there are:\n got %+v\nwant %+v", page, got, want)
				}
			}
		}
	}
	if files < 4 {
		t.Errorf("the documentation shows %d files; the test did not find them", files)
	}
}

// policyPage matches the pages whose files are policies.
var policyPage = regexp.MustCompile(`^docs/(policy|patterns|doubt|starter)\.md$`)

// Every metric that a running heldcall exports is documented. That nothing else
// is, and with which labels, is held by dashboards/check.
func TestMetricsAreDocumented(t *testing.T) {
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(heldcall_[a-z_]+)` \\|").FindAllStringSubmatch(read(t, "docs/metrics.md"), -1) {
		documented = append(documented, row[1])
	}
	var exported []string
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (heldcall_[a-z_]+) `).FindAllStringSubmatch(metrics(t), -1) {
		exported = append(exported, line[1])
	}
	for _, metric := range exported {
		if !slices.Contains(documented, metric) {
			t.Errorf("docs/metrics.md does not have %s", metric)
		}
	}
}

// metrics are what a heldcall exports that has served one agent.
func metrics(t *testing.T) string {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
	}))
	defer model.Close()
	config := app.DefaultConfig(func(string) (string, bool) { return "", false })
	config.Proxy.Listen, config.Console.Listen, config.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", ""
	config.Proxy.Upstreams[0].URL = model.URL
	config.NATS.Dir = t.TempDir()
	config.Notify.Slack = []app.SlackConfig{{Name: "slack", BotToken: "xoxb-1", Channel: "C1", APIURL: model.URL + "/"}}
	heldcall, err := app.New(app.Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- heldcall.Run(ctx) }()
	defer func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-heldcall.Started():
	case err := <-stopped:
		stopped <- nil
		t.Fatalf("heldcall did not start: %v", err)
	}
	answer(t, func() (*http.Response, error) {
		return http.Post("http://"+heldcall.ProxyAddr()+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
	})
	export := func() (*http.Response, error) { return http.Get(heldcall.ConsoleURL() + "/metrics") }
	answer(t, export) // it counts in the second
	return answer(t, export)
}

// answer is the body of an answer that went well.
func answer(t *testing.T, send func() (*http.Response, error)) string {
	t.Helper()
	resp, err := send()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", resp.Status, body, err)
	}
	return string(body)
}

// No link leads nowhere.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)
	for _, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, page), -1) {
			file, heading := found[1], strings.TrimPrefix(found[2], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, file, err)
			} else if heading != "" && !slices.Contains(headings(read(t, target)), heading) {
				t.Errorf("%s links to the heading %s of %s, which there is not", page, heading, target)
			}
		}
	}
}

// Pictures are small, and a page shows each.
func TestPicturesAreSmallAndShown(t *testing.T) {
	pictures, err := filepath.Glob("docs/pictures/*")
	if err != nil || len(pictures) < 6 {
		t.Fatalf("%d pictures, %v", len(pictures), err)
	}
	shown := read(t, "docs/cards.md")
	for _, picture := range pictures {
		if info, err := os.Stat(picture); err != nil || info.Size() > 150_000 {
			t.Errorf("%s is larger than 150 kB, or cannot be read: %v", picture, err)
		}
		if !strings.Contains(shown, "(pictures/"+filepath.Base(picture)+")") {
			t.Errorf("docs/cards.md does not show %s", picture)
		}
	}
}

// headings are the names under which headings are linked to.
func headings(page string) []string {
	var names []string
	for _, line := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(line[1]), "")
		names = append(names, strings.ReplaceAll(plain, " ", "-"))
	}
	return names
}

// The first part of docs/quick-start.md is the section of the same name in README.md, but for where links lead.
func TestQuickStartIsOneText(t *testing.T) {
	_, first, _ := strings.Cut(read(t, "docs/quick-start.md"), "\n\n")
	first, _, _ = strings.Cut(first, "\n## ")
	_, section, _ := strings.Cut(read(t, "README.md"), "\n## Quick start\n\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if diff := cmp.Diff(regexp.MustCompile(`\]\(([a-z])`).ReplaceAllString(first, "](docs/$1"), section); diff != "" {
		t.Errorf("the quick start in docs (-) and README.md (+): %s", diff)
	}
}

// pages are all Markdown files for users and developers.
func pages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	return pages
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The versions in docs/agents.md are those that the agents' tests install.
func TestAgentsAreDocumentedWithTheirVersions(t *testing.T) {
	documented := read(t, "docs/agents.md")
	for _, pins := range []string{"internal/testing/agents/npm/package.json", "internal/testing/agents/npm-more/package.json"} {
		var installed struct{ Dependencies map[string]string }
		if err := json.Unmarshal([]byte(read(t, pins)), &installed); err != nil {
			t.Fatal(err)
		}
		for name, version := range installed.Dependencies {
			if want := "`" + name + "` " + version; !strings.Contains(documented, want) {
				t.Errorf("docs/agents.md does not have %s of %s", want, pins)
			}
		}
	}
}
