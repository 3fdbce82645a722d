// Package accumulate compares what the accumulators of the official Go SDKs make
// of an answer with what they make of it behind heldcall. Its tests are fuzz
// targets, one for each API; make fuzz runs them. They stand in the module of the
// SDKs, so that heldcall itself does not depend on these.
package accumulate
