package console

import (
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// get asks a running console as a program or a browser does.
func get(t *testing.T, url, accept string, header http.Header) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		request.Header = header
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestBrowsersGetTheInboxAndProgramsTheIndex(t *testing.T) {
	url := start(t, &scriptedGate{}, nil)
	page, body := get(t, url+"/", browser, nil)
	if got := page.Header.Get("Content-Type"); got != "text/html; charset=utf-8" || !strings.Contains(body, "/inbox/app.js") {
		t.Errorf("a browser got %s: %.80s", got, body)
	}
	index, body := get(t, url+"/", "*/*", nil)
	if got := index.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" || !strings.Contains(body, "/api/v1/requests") {
		t.Errorf("curl got %s: %.80s", got, body)
	}
	for _, response := range []*http.Response{page, index} {
		if response.Header.Get("Vary") != "Accept" {
			t.Errorf("a cache may mix up the two answers at /: Vary is %q", response.Header.Get("Vary"))
		}
	}
}

// The inbox says why something was cancelled as everything else says it.
func TestInboxSaysWhyCancelled(t *testing.T) {
	script, err := inboxFiles.ReadFile("inbox/view/call.js")
	if err != nil {
		t.Fatal(err)
	}
	for code, words := range approvals.CancelReasons() {
		if line := code + ": '" + words + "',"; !strings.Contains(string(script), line) {
			t.Errorf("call.js does not have %s", line)
		}
	}
}

// Every file is served with its type and the policy, and a browser that has it
// is told so.
func TestInboxFilesAreServedUnderThePolicy(t *testing.T) {
	url := start(t, &scriptedGate{}, nil)
	err := fs.WalkDir(inboxFiles, "inbox", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		response, _ := get(t, url+"/"+name, "*/*", nil)
		header := response.Header
		if response.StatusCode != http.StatusOK || header.Get("Content-Type") != mediaTypes[path.Ext(name)] {
			t.Errorf("%s: %s, %q", name, response.Status, header.Get("Content-Type"))
		}
		if header.Get("Content-Security-Policy") != inboxPolicy || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is served without its guards: %v", name, header)
		}
		again, body := get(t, url+"/"+name, "*/*", http.Header{"If-None-Match": {header.Get("ETag")}})
		if again.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%s comes again though it is known: %s", name, again.Status)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestThePolicyOfTheInboxIsStrict(t *testing.T) {
	for _, lax := range []string{"unsafe", "http:", "https:", "data:", "blob:", "*"} {
		if strings.Contains(inboxPolicy, lax) {
			t.Errorf("the policy has %q: %s", lax, inboxPolicy)
		}
	}
	for _, strict := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types worker"} {
		if !strings.Contains(inboxPolicy, strict) {
			t.Errorf("the policy lacks %s: %s", strict, inboxPolicy)
		}
	}
}

func TestNothingButTheInboxIsServed(t *testing.T) {
	url := start(t, &scriptedGate{}, nil)
	for _, name := range []string{"", "nothing.js", "text", "..%2finbox.go", "%2e%2e/inbox.go", "text/..%2f..%2fconsole.go", "text/visible.js/"} {
		if response, _ := get(t, url+"/inbox/"+name, browser, nil); response.StatusCode != http.StatusNotFound {
			t.Errorf("/inbox/%s: %s", name, response.Status)
		}
	}
}

// The pages set texts as texts. What would make markup of them, or reach out to
// another host, stands in no file.
func TestInboxHasNoWayFromTextToMarkup(t *testing.T) {
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setHTMLUnsafe|DOMParser|createContextualFragment|javascript:`)
	elsewhere := regexp.MustCompile(`["'(=]\s*(https?:)?//[a-z]`)
	err := fs.WalkDir(inboxFiles, "inbox", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(inboxFiles, name)
		if err != nil {
			return err
		}
		if found := banned.Find(content); found != nil {
			t.Errorf("%s has %q", name, found)
		}
		text := strings.ReplaceAll(string(content), `"http://www.w3.org/2000/svg"`, "")
		if found := elsewhere.FindString(text); found != "" {
			t.Errorf("%s refers to another host: %q", name, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
