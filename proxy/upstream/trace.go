package upstream

// The headers of W3C Trace Context.
const (
	headerTraceParent = "traceparent"
	headerTraceState  = "tracestate"
)

// TraceContext replaces the agent's W3C trace context in an upstream request. The zero
// value leaves the agent's in place.
type TraceContext struct{ Parent, State string }

// replaces reports whether it replaces one of the agent's headers.
func (t *TraceContext) replaces(lower []byte) bool {
	return t.Parent != "" && (string(lower) == headerTraceParent || string(lower) == headerTraceState)
}

// Append appends the headers to dst.
func (t *TraceContext) Append(dst []byte) []byte {
	if t.Parent != "" {
		dst = append(append(append(dst, headerTraceParent+": "...), t.Parent...), "\r\n"...)
	}
	if t.State != "" {
		dst = append(append(append(dst, headerTraceState+": "...), t.State...), "\r\n"...)
	}
	return dst
}
