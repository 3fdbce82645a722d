package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/heldcall/heldcall/console/problem"
)

// inboxFiles are the pages of the inbox, as a browser gets them: nothing builds
// them and nothing is loaded from elsewhere.
//
//go:embed inbox
var inboxFiles embed.FS

const inboxPage = "index.html"

// inboxWorker is the service worker, whose scope is the whole console.
const inboxWorker = "sw.js"

// inboxPolicy is the Content-Security-Policy of the inbox: its own scripts and
// styles, its own API, and nothing of what a model wrote. Trusted types have
// browsers refuse every way from a text to markup or script; the only policy that
// there may be is that of the service worker, whose address is fixed.
const inboxPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; manifest-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types worker"

// mediaTypes are those of the inbox's files; a file of another kind is not
// served.
var mediaTypes = map[string]string{
	".html":        "text/html; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".webmanifest": "application/manifest+json",
}

// front answers a browser with the inbox and everybody else with the index.
func (c *Console) front(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Vary", "Accept")
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		return serveInbox(w, r, inboxPage)
	}
	return c.index(w, r)
}

// inboxPage answers the page to a browser that comes back from the provider: its
// script ends the sign-in.
func (c *Console) inboxPage(w http.ResponseWriter, r *http.Request) error {
	return serveInbox(w, r, inboxPage)
}

// inboxFile answers a file of the inbox.
func (c *Console) inboxFile(w http.ResponseWriter, r *http.Request) error {
	return serveInbox(w, r, r.PathValue("file"))
}

func serveInbox(w http.ResponseWriter, r *http.Request, name string) error {
	content, err := fs.ReadFile(inboxFiles, path.Join("inbox", path.Clean("/"+name)))
	media := mediaTypes[path.Ext(name)]
	if err != nil || media == "" {
		return problem.New(http.StatusNotFound, problem.CodeNotFound, fmt.Sprintf("the inbox has no file at %s; GET / is where it begins", r.URL.Path))
	}
	sum := sha256.Sum256(content)
	header := w.Header()
	header.Set("Content-Type", media)
	header.Set("Content-Security-Policy", inboxPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	if name == inboxWorker {
		header.Set("Service-Worker-Allowed", "/")
	}
	header.Set("Cache-Control", "no-cache") // kept, and asked about each time: no data of anybody's is in it
	header.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	return nil
}
