package upstream

// The headers of W3C Trace Context.
const (
	headerTraceParent = "traceparent"
	headerTraceState  = "tracestate"
)

// TraceContext is the trace context that upstream gets in place of the agent's. The zero
// value lets the agent's own pass.
type TraceContext struct{ Parent, State string }

// Get, Set and Keys make it what a propagator writes to ([propagation.TextMapCarrier]).
func (l *TraceContext) Get(string) string { return "" }
func (l *TraceContext) Keys() []string    { return nil }
func (l *TraceContext) Set(name, value string) {
	switch name {
	case headerTraceParent:
		l.Parent = value
	case headerTraceState:
		l.State = value
	}
}

// replaces reports the agent's headers in whose place it stands.
func (l *TraceContext) replaces(lower []byte) bool {
	return l.Parent != "" && (string(lower) == headerTraceParent || string(lower) == headerTraceState)
}

// Append writes the headers.
func (l *TraceContext) Append(dst []byte) []byte {
	if l.Parent != "" {
		dst = append(append(append(dst, headerTraceParent+": "...), l.Parent...), "\r\n"...)
	}
	if l.State != "" {
		dst = append(append(append(dst, headerTraceState+": "...), l.State...), "\r\n"...)
	}
	return dst
}
