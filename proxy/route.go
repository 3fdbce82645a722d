package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/hooks"
	"github.com/heldcall/heldcall/proxy/upstream"
)

// openRoute is a route that carries no tool calls.
type openRoute struct{ methods, pattern string }

// ungated are the routes known to carry no tool calls, as patterns of the path
// after the upstream's prefix, with their methods. Everything that is neither
// here, in proxy.routes.allow, nor gated by a dialect is refused: POST below
// /models generates at some providers.
var ungated = []openRoute{
	{"GET HEAD DELETE", "/models"},
	{"GET HEAD DELETE", "/models/**"},
	{"POST", "/embeddings"},
	{"GET HEAD POST DELETE", "/files"},
	{"GET HEAD POST DELETE", "/files/**"},
	{"POST", "/uploads"},
	{"POST", "/uploads/**"},
	{"POST", "/images/{generations,edits,variations}"},
	{"POST", "/audio/{speech,transcriptions,translations}"},
	{"POST", "/moderations"},
	{"POST", "/rerank"},
	{"POST", "/tokenize"},
	{"POST", "/detokenize"},
	{"POST", "/completions"},
	{"POST", "/complete"}, // Anthropic, legacy
	{"GET POST DELETE", "/conversations/*"},
}

// ungatedChatGPT are such routes of the API for logins for ChatGPT. Its others belong to the web page, begin talks that
// can call tools, or are unknown.
var ungatedChatGPT = []openRoute{
	{"GET HEAD", "/models"},
	{"POST", "/images/{generations,edits}"},
	{"POST", "/alpha/search"}, // of a search that Codex runs itself, whose call was judged
}

// unknownRoute is the label of a request whose upstream is not known.
const unknownRoute = "unknown"

// route is where a request goes. A request whose path is not known to be harmless goes nowhere.
type route struct {
	upstream *upstream.Client
	dialect  intercept.Dialect // nil: the route carries no calls
	path     string            // normalised, after the upstream's prefix
	label    string            // for metrics: a dialect's name, ungated, allowed, refused, hook, proof or unknownRoute
	hook     *hooks.Form       // of the client whose hook asks, nil for other routes
}

// router finds routes. It is immutable.
type router struct {
	upstreams []*upstream.Client // longest prefix first
	dialects  []intercept.Dialect
	allowed   []string
}

// newRouter makes a router. allowed are further patterns of paths that carry no calls, with
// or without an upstream's prefix.
func newRouter(upstreams []*upstream.Client, dialects []intercept.Dialect, allowed []string) *router {
	sorted := slices.Clone(upstreams)
	slices.SortStableFunc(sorted, func(a, b *upstream.Client) int { return len(b.Prefix) - len(a.Prefix) })
	return &router{sorted, dialects, allowed}
}

// find routes a path as [normalPath] returns it, of a request with a login for ChatGPT or without. Letter case does not
// matter for a gated route, whose canonical spelling goes upstream. The error refuses the request.
func (r *router) find(method, path string, chatGPT bool) (route, *intercept.Error) {
	u, tail, ok := r.upstream(path)
	if !ok {
		return route{label: unknownRoute}, &intercept.Error{
			Code:   intercept.CodeRouteNotGated,
			Reason: fmt.Sprintf("no upstream for this path; use http://HOST:PORT and one of: %s", strings.Join(r.prefixes(), ", ")),
		}
	}
	open := ungated
	if chatGPT {
		if u.ChatGPT == nil {
			return route{upstream: u, label: "refused"}, &intercept.Error{
				Code:   intercept.CodeRouteNotGated,
				Reason: fmt.Sprintf("the request has a login for ChatGPT, which is not sent to the upstream of %s; use an API key, or set chatgpt_url of this upstream in proxy.upstreams", u.Prefix),
			}
		}
		u, open = u.ChatGPT, ungatedChatGPT
	}
	for _, d := range r.dialects {
		if canonical, ok := d.Gates(method, tail); ok {
			return route{upstream: u, dialect: d, path: canonical, label: d.Name()}, nil
		}
	}
	if isOpen(open, method, tail) && !r.gatedOtherwise(u.BasePath+tail, http.MethodPost) {
		return route{upstream: u, path: tail, label: "ungated"}, nil
	}
	for _, pattern := range r.allowed {
		if (matches(pattern, tail) || matches(pattern, path)) && !r.gatedOtherwise(u.BasePath+tail, http.MethodPost, http.MethodGet) {
			return route{upstream: u, path: tail, label: "allowed"}, nil
		}
	}
	return route{upstream: u, label: "refused"}, &intercept.Error{
		Code:   intercept.CodeRouteNotGated,
		Reason: "this route can carry tool calls that heldcall does not gate, or is unknown to it; if it carries none, add its path to proxy.routes.allow",
	}
}

// isOpen reports whether a route is one of those that carry no calls.
func isOpen(open []openRoute, method, path string) bool {
	if strings.Contains(path, ":") {
		return false
	}
	plain := withoutDeployment(path)
	return slices.ContainsFunc(open, func(o openRoute) bool {
		return matches(o.pattern, plain) && slices.Contains(strings.Fields(o.methods), method)
	})
}

// gatedOtherwise reports whether a dialect gates the path, as it is upstream, under one of
// the methods. No setting lets such a path pass with another method, or because a part of
// it is in the upstream's URL.
func (r *router) gatedOtherwise(path string, methods ...string) bool {
	for _, d := range r.dialects {
		for _, method := range methods {
			if _, gated := d.Gates(method, path); gated {
				return true
			}
		}
	}
	return false
}

// withoutDeployment is a path of Azure's API (/deployments/{name}/embeddings,
// /v1/embeddings below /openai) as the others spell it.
func withoutDeployment(path string) string {
	if tail, ok := cutPrefix(path, "/v1"); ok {
		return tail
	}
	if tail, ok := cutPrefix(path, "/deployments"); ok && len(tail) > 1 {
		if i := strings.IndexByte(tail[1:], '/'); i > 0 {
			return tail[1+i:]
		}
	}
	return path
}

// upstream finds the upstream with the longest prefix of whole segments.
func (r *router) upstream(path string) (u *upstream.Client, tail string, ok bool) {
	for _, u := range r.upstreams {
		if tail, ok := cutPrefix(path, u.Prefix); ok {
			return u, tail, true
		}
	}
	return nil, "", false
}

func cutPrefix(path, prefix string) (tail string, ok bool) {
	if len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
		return "", false
	}
	tail = path[len(prefix):]
	return tail, tail == "" || tail[0] == '/'
}

func (r *router) prefixes() (list []string) {
	for _, u := range r.upstreams {
		list = append(list, u.Prefix+"/")
	}
	return list
}

func matches(pattern, path string) bool {
	ok, err := doublestar.Match(pattern, path)
	return ok && err == nil
}
