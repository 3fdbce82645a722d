// Package accumulate compares the results of the accumulators of the official Go SDKs with
// and without heldcall. Its tests are fuzz targets, one for each API; make fuzz runs them.
// They are in the module of the SDKs, so that heldcall itself does not depend on these.
package accumulate
