package proxy

// redact returns a text for the audit log without the secrets that heldcall knows: the
// keys of all upstreams.
func (p *Proxy) redact(text []byte) []byte {
	for _, u := range p.router.upstreams {
		text = u.Redactor().Redact(text)
	}
	return text
}
