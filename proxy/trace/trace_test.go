package trace

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/upstream"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// Tracing that is off allocates nothing, however the turn ends.
func TestTracingThatIsOffAllocatesNothing(t *testing.T) {
	e := intercept.Envelope{Method: http.MethodPost, Path: "/chat/completions"}
	call := intercept.Call{Name: "bash"}
	requests, calls, decisions := []approvals.Request{{}}, []intercept.Call{call}, []Decision{{Call: call}}
	began, refusal, c := time.Now(), &intercept.Error{}, Context{}
	allocated := testing.AllocsPerRun(100, func() {
		s := Begin(Options{}, Request{Method: http.MethodPost, Began: began})
		s.Identified("s", "r", approvals.Principal{})
		c = s.UpstreamRequest(UpstreamRequest{Envelope: e})
		s.UpstreamHead(http.StatusOK)
		s.UpstreamBody()
		s.UpstreamEnded("")
		s.Asked(requests, calls)
		s.Answered(requests)
		s.Abandoned(LeftPending, "")
		s.Decided(decisions, began, nil)
		s.Failed(refusal)
		s.End(http.StatusOK, "passed")
	})
	if allocated > 0 || c != (Context{}) {
		t.Errorf("%v allocations, and the trace context %v", allocated, c)
	}
}

// A key that the end of a long name cuts through is hidden like any other.
func TestLongNamesHideTheKeyBeforeTheyAreCut(t *testing.T) {
	const key = "sk-live-0123456789abcdef"
	s := &Spans{redactor: upstream.NewKeyRedactor(key)}
	for before := nameLimit - len(key) - 1; before <= nameLimit+1; before++ {
		got := s.short("", strings.Repeat("é", before/2)+strings.Repeat("x", before%2)+key).Value.AsString()
		if strings.Contains(got, key[:4]) || !utf8.ValidString(got) || len(got) > nameLimit+len("\uFFFD…") {
			t.Errorf("after %d bytes: %q", before, got)
		}
	}
}

// recorder returns tracing options and the spans that have ended.
func recorder() (Options, *tracetest.SpanRecorder) {
	ended := tracetest.NewSpanRecorder()
	return Options{Tracer: sdk.NewTracerProvider(sdk.WithSpanProcessor(ended)).Tracer("test")}, ended
}

func TestUpstreamRequestNames(t *testing.T) {
	for name, tt := range map[string]struct {
		r          UpstreamRequest
		want       string
		attributes string // one that the span has, as key=value
	}{
		"a model": {
			UpstreamRequest{Envelope: intercept.Envelope{Method: "POST", Path: "/chat/completions"}, Addr: "api.openai.com:443", Dialect: "chat", Model: "gpt", Session: "s"},
			"chat gpt", "gen_ai.provider.name=openai",
		},
		"no model named":    {UpstreamRequest{Envelope: intercept.Envelope{Method: "POST"}, Addr: "x:1", Dialect: "messages"}, "chat", "gen_ai.provider.name=anthropic"},
		"a continuation":    {UpstreamRequest{Envelope: intercept.Envelope{Method: "POST"}, Addr: "x:1", Dialect: "chat", Continuation: 2}, "chat", "heldcall.continuation=2"},
		"cancelled":         {UpstreamRequest{Envelope: intercept.Envelope{Method: "POST", Path: "/responses/x/cancel"}, Route: "responses", Dialect: "responses"}, "POST responses", "http.request.method=POST"},
		"without calls":     {UpstreamRequest{Envelope: intercept.Envelope{Method: "POST"}, Addr: "[::1]:80", Route: "ungated"}, "POST ungated", "server.address=::1"},
		"an unknown method": {UpstreamRequest{Envelope: intercept.Envelope{Method: "BREW"}, Route: "ungated"}, "HTTP ungated", "http.request.method=_OTHER"},
	} {
		t.Run(name, func(t *testing.T) {
			o, ended := recorder()
			s := Begin(o, Request{Method: http.MethodPost, Route: "chat"})
			if c := s.UpstreamRequest(tt.r); !strings.HasPrefix(c.Parent, "00-") {
				t.Errorf("the trace context for upstream is %v", c)
			}
			s.End(http.StatusOK, "passed")
			span := ended.Ended()[0]
			found := false
			for _, a := range span.Attributes() {
				found = found || string(a.Key)+"="+a.Value.String() == tt.attributes
			}
			if span.Name() != tt.want || !found {
				t.Errorf("span %q with %v; want %q with %s", span.Name(), span.Attributes(), tt.want, tt.attributes)
			}
		})
	}
}

// The spans of an agent and of upstream are in one trace, and all end with the request.
func TestSpansEndWithTheRequest(t *testing.T) {
	o, ended := recorder()
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	s := Begin(o, Request{Method: http.MethodPost, Route: "chat", Parent: Context{Parent: "00-" + traceID + "-b7ad6b7169203331-01"}})
	if c := s.UpstreamRequest(UpstreamRequest{}); !strings.Contains(c.Parent, traceID) {
		t.Errorf("upstream gets %q", c.Parent)
	}
	s.Asked([]approvals.Request{{ID: "r1"}}, []intercept.Call{{Name: "bash"}})
	s.End(http.StatusBadGateway, "failed")
	var names []string
	for _, span := range ended.Ended() {
		names = append(names, span.Name())
		if span.SpanContext().TraceID().String() != traceID {
			t.Errorf("%s is in trace %s", span.Name(), span.SpanContext().TraceID())
		}
	}
	if got := strings.Join(names, ", "); got != "HTTP , hold bash, POST chat" {
		t.Errorf("ended: %s", got)
	}
}
