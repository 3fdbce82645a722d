package console

import (
	"io"
	"net/http"
	"strings"
	"testing"
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
		if response.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("a browser may take %s for another type", response.Request.URL)
		}
		if response.Header.Get("Vary") != "Accept" {
			t.Errorf("a cache may mix up the two answers at /: Vary is %q", response.Header.Get("Vary"))
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
