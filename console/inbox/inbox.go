// Package inbox is the web inbox, and the only package that is not Go: the pages, styles and scripts
// that browsers run, and their handler.
package inbox

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

// files are the pages of the inbox, as a browser gets them: nothing builds them and
// nothing is loaded from elsewhere.
//
//go:embed *.css *.html *.js *.svg *.webmanifest present text view
var files embed.FS

// Page is the name of the page itself.
const Page = "index.html"

// worker is the service worker, whose scope is the whole console.
const worker = "sw.js"

// policy is the Content-Security-Policy of the inbox: its own scripts and
// styles, its own API, and nothing of what a model wrote. Trusted types have
// browsers refuse every way from a text to markup or script; the only policy that
// there may be is that of the service worker, whose address is fixed.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; manifest-src 'self'; " +
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

// Serve writes a file of the inbox to a browser. A file that does not exist is a
// [problem.Problem].
func Serve(w http.ResponseWriter, r *http.Request, name string) error {
	content, err := fs.ReadFile(files, strings.TrimPrefix(path.Clean("/"+name), "/"))
	media := mediaTypes[path.Ext(name)]
	if err != nil || media == "" {
		return problem.New(http.StatusNotFound, problem.CodeNotFound, fmt.Sprintf("the inbox has no file at %s; GET / is where it begins", r.URL.Path))
	}
	sum := sha256.Sum256(content)
	header := w.Header()
	header.Set("Content-Type", media)
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	if name == worker {
		header.Set("Service-Worker-Allowed", "/")
	}
	header.Set("Cache-Control", "no-cache") // browsers keep it and revalidate it: it contains no data of users
	header.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	return nil
}
