package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/app"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is an OTLP receiver over HTTP.
type receiver struct {
	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex
	spans   []*otlp.Span
	bodies  []byte
	service string
	header  http.Header
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var export collector.ExportTraceServiceRequest
	if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &export) != nil {
		r.t.Errorf("%s %s is no export of spans: %v, %q", req.Method, req.URL, err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header = req.Header.Clone()
	r.bodies = append(r.bodies, body...)
	for _, resource := range export.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				r.service = a.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
}

// on is the configuration that sends spans to the receiver.
func (r *receiver) on(c *app.Config) {
	c.Tracing.Enabled, c.Tracing.Endpoint = true, r.server.URL
}

// trace stops heldcall, so that all spans have been sent, and returns them by name
// in the order in which they began. Every attribute must be documented.
func (r *receiver) trace(w *world) trace {
	r.t.Helper()
	if err := w.stop(); err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	documented, err := os.ReadFile("../docs/tracing.md")
	if err != nil {
		r.t.Fatal(err)
	}
	all := trace{t: r.t}
	for _, s := range r.spans {
		at := len(all.spans)
		for at > 0 && all.spans[at-1].StartTimeUnixNano > s.StartTimeUnixNano {
			at--
		}
		all.spans = append(all.spans[:at], append([]*otlp.Span{s}, all.spans[at:]...)...)
		for _, a := range s.Attributes {
			if !strings.Contains(string(documented), "`"+a.Key+"`") {
				r.t.Errorf("docs/tracing.md does not have %s, which is on %q", a.Key, s.Name)
			}
		}
	}
	return all
}

type trace struct {
	t     *testing.T
	spans []*otlp.Span
}

// span is the nth of a name, from 0.
func (tr trace) span(name string, nth int) *otlp.Span {
	tr.t.Helper()
	var names []string
	for _, s := range tr.spans {
		names = append(names, s.Name)
		if s.Name == name {
			if nth == 0 {
				return s
			}
			nth--
		}
	}
	tr.t.Fatalf("there is no span %q (%d more) among %q", name, nth, names)
	return nil
}

// child fails unless one span is the parent of the other.
func (tr trace) child(parent, child *otlp.Span) {
	tr.t.Helper()
	if string(child.ParentSpanId) != string(parent.SpanId) || string(child.TraceId) != string(parent.TraceId) {
		tr.t.Errorf("%q is no child of %q", child.Name, parent.Name)
	}
	if child.EndTimeUnixNano < child.StartTimeUnixNano || child.StartTimeUnixNano < parent.StartTimeUnixNano {
		tr.t.Errorf("%q (%d to %d) does not begin within %q (%d)", child.Name, child.StartTimeUnixNano, child.EndTimeUnixNano, parent.Name, parent.StartTimeUnixNano)
	}
}

// has fails unless the span has the attributes, given as pairs of texts; ""
// means that the span lacks the attribute.
func (tr trace) has(s *otlp.Span, pairs ...string) {
	tr.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if got := attribute(s, pairs[i]); got != pairs[i+1] {
			tr.t.Errorf("%q has %s = %q, want %q", s.Name, pairs[i], got, pairs[i+1])
		}
	}
}

func attribute(s *otlp.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if text, ok := strings.CutPrefix(a.Value.String(), "int_value:"); ok {
				return text
			}
			if text, ok := strings.CutPrefix(a.Value.String(), "bool_value:"); ok {
				return text
			}
			return a.Value.GetStringValue()
		}
	}
	return ""
}
