package inbox

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// get asks for a file, of which a browser has the version of an ETag.
func get(t *testing.T, name, etag string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/inbox/"+name, http.NoBody)
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	recorder := httptest.NewRecorder()
	if err := Serve(recorder, request, name); err != nil {
		t.Fatal(err)
	}
	return recorder
}

// The inbox has the reasons of a cancellation of [approvals.CancelReasons].
func TestInboxHasTheCancelReasons(t *testing.T) {
	script, err := files.ReadFile("view/call.js")
	if err != nil {
		t.Fatal(err)
	}
	for code, words := range approvals.CancelReasons() {
		if line := code + ": '" + words + "',"; !strings.Contains(string(script), line) {
			t.Errorf("call.js does not have %s", line)
		}
	}
}

// Every file is served with its type and the policy, and with 304 to a browser that
// has it.
func TestInboxFilesAreServedUnderThePolicy(t *testing.T) {
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		response := get(t, name, "")
		header := response.Header()
		if response.Code != http.StatusOK || header.Get("Content-Type") != mediaTypes[path.Ext(name)] {
			t.Errorf("%s: %d, %q", name, response.Code, header.Get("Content-Type"))
		}
		if header.Get("Content-Security-Policy") != policy {
			t.Errorf("%s is served without its guards: %v", name, header)
		}
		if again := get(t, name, header.Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s comes again though it is known: %d", name, again.Code)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestThePolicyOfTheInboxIsStrict(t *testing.T) {
	for _, lax := range []string{"unsafe", "http:", "https:", "data:", "blob:", "*"} {
		if strings.Contains(policy, lax) {
			t.Errorf("the policy has %q: %s", lax, policy)
		}
	}
	for _, strict := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types worker"} {
		if !strings.Contains(policy, strict) {
			t.Errorf("the policy lacks %s: %s", strict, policy)
		}
	}
}

// The pages set texts as texts: no file has code that makes markup of them or connects
// to another host.
func TestInboxHasNoWayFromTextToMarkup(t *testing.T) {
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setHTMLUnsafe|DOMParser|createContextualFragment|javascript:`)
	elsewhere := regexp.MustCompile(`["'(=]\s*(https?:)?//[a-z]`)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
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
