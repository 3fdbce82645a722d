package effects

// scripts adds the effects of shell scripts.
func (f *finder) scripts() {
	f.unknown(f.c.Call.Tool)
}
