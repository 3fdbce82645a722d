package packed

import "bytes"

// HeadWriter takes the head of an answer: that of fasthttp for the agent, or a [Head] that is kept.
type HeadWriter interface {
	SetStatusCode(code int)
	SetStatusMessage(message []byte)
	AddBytesKV(name, value []byte)
}

// Head is the head of an answer as the agent gets it.
type Head struct {
	Status  int    // 0: nothing is known of the head
	Message []byte // "" for the usual one
	Fields  []byte // a line each
}

// SetStatusCode keeps the status.
func (h *Head) SetStatusCode(code int) { h.Status = code }

// SetStatusMessage keeps a text in place of the usual one.
func (h *Head) SetStatusMessage(message []byte) { h.Message = bytes.Clone(message) }

// AddBytesKV keeps a header field.
func (h *Head) AddBytesKV(name, value []byte) {
	if h.Fields == nil {
		h.Fields = make([]byte, 0, 512)
	}
	h.Fields = append(append(append(append(h.Fields, name...), ':'), value...), '\n')
}

// CopyTo copies the head.
func (h *Head) CopyTo(w HeadWriter) {
	if h.Status == 0 {
		return
	}
	w.SetStatusCode(h.Status)
	if len(h.Message) > 0 {
		w.SetStatusMessage(h.Message)
	}
	for line := range bytes.Lines(h.Fields) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok {
			w.AddBytesKV(name, bytes.TrimSuffix(value, []byte("\n")))
		}
	}
}
