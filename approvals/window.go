package approvals

import "time"

// MaxWindow is the longest trust window.
const MaxWindow = time.Hour

// PermitsFolder reports whether a folder can be added to the workspace of the request's run.
func (r *Request) PermitsFolder() bool {
	return r.Kind == KindPermission && r.SessionID != "" && r.RunID != "" && r.GrantsDecide()
}

// CheckWindow refuses a decision with a trust window that is not an approval, or that lasts too
// long. It returns the time for which the window is open.
func (d *Decision) CheckWindow() (time.Duration, error) {
	lasts, err := time.ParseDuration(d.Window)
	switch {
	case d.Action != ActionApprove:
		return 0, Invalid("window", "only approve opens a trust window, not %q", d.Action)
	case err != nil:
		return 0, Invalid("window", "%q is no duration: write one such as 15m", d.Window)
	case lasts <= 0 || lasts > MaxWindow:
		return 0, Invalid("window", "%q is not possible: write more than 0 and at most %.0fh", d.Window, MaxWindow.Hours())
	}
	return lasts, nil
}

// Remembers reports whether a decision makes a grant.
func (d *Decision) Remembers() bool {
	return d.Action == ActionAllowAlways || d.Action == ActionDenyAlways || d.Window != ""
}

// Describe returns the patterns of a grant, or of a trust window or a folder what it covers in words.
func (g *Grant) Describe() []string {
	switch {
	case g.Window:
		return []string{"reads and writes in the workspace"}
	case g.Folder != "":
		return []string{g.Folder + " as a part of the workspace"}
	}
	return g.Patterns
}

// BeginEvent returns the type of the event with which a grant begins.
func (g *Grant) BeginEvent() EventType {
	switch {
	case g.Window:
		return EventWindowOpened
	case g.Folder != "":
		return EventWorkspaceAdded
	}
	return EventGrantCreated
}

// EndEvent returns the type of the event with which a grant ends.
func (g *Grant) EndEvent() EventType {
	if g.Window {
		return EventWindowClosed
	}
	return EventGrantRevoked
}
