package console

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/heldcall/heldcall/console/inbox"
	"github.com/heldcall/heldcall/console/openapi"
)

// pageHandlers serve the web inbox, and what describes the console: the index, the
// OpenAPI document, its page and the metrics.
type pageHandlers struct {
	routes    []route
	document  func() ([]byte, error) // made once, as it is public
	reference func() ([]byte, error) // the same
	gatherer  prometheus.Gatherer
}

func (h *pageHandlers) describeRoutes(routes []route) {
	h.routes = routes
	order := make([]openapi.Route, len(routes))
	for i, r := range routes {
		order[i] = openapi.Route{Method: r.method, Path: r.path}
	}
	h.document = sync.OnceValues(openapi.Document)
	h.reference = sync.OnceValues(func() ([]byte, error) { return openapi.Reference(order) })
}

// front answers a browser with the inbox and other clients with the index.
func (h *pageHandlers) front(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Vary", "Accept")
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		return h.inboxPage(w, r)
	}
	return h.index(w, r)
}

// inboxPage answers the page, also to a browser that returns from the provider: its script
// ends the sign-in.
func (h *pageHandlers) inboxPage(w http.ResponseWriter, r *http.Request) error {
	return inbox.Serve(w, r, inbox.Page)
}

func (h *pageHandlers) inboxFile(w http.ResponseWriter, r *http.Request) error {
	return inbox.Serve(w, r, r.PathValue("file"))
}

func (h *pageHandlers) index(w http.ResponseWriter, _ *http.Request) error {
	var page strings.Builder
	page.WriteString("heldcall console\n\nIn a browser, this address is the inbox.\n\nOn the command line:\n" +
		"  heldcall requests           list pending requests\n" +
		"  heldcall requests show ID   show a request in full\n" +
		"  heldcall approve ID         approve a request\n" +
		"  heldcall deny ID --note WHY deny it; the model reads the note\n" +
		"  heldcall modify ID          approve it with other arguments\n\nOver HTTP:\n")
	for _, route := range h.routes {
		fmt.Fprintf(&page, "  %-6s %-32s %s\n", route.method, route.path, route.about)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, page.String()) // fails only if the client is gone
	return nil
}

func (h *pageHandlers) exportMetrics() handlerFunc {
	export := promhttp.HandlerFor(h.gatherer, promhttp.HandlerOpts{})
	return func(w http.ResponseWriter, r *http.Request) error {
		export.ServeHTTP(w, r)
		return nil
	}
}

func (h *pageHandlers) showOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	text, err := h.document()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // fails only if the client is gone
	return nil
}

func (h *pageHandlers) showReference(w http.ResponseWriter, _ *http.Request) error {
	text, err := h.reference()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", openapi.ReferencePolicy)
	_, _ = w.Write(text) // fails only if the client is gone
	return nil
}
