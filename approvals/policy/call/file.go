package call

// IsSeen reports whether a path is certainly in the workspace, and heldcall sees the files there. It need not be a path of the
// call. secret reports whether its name is that of a secret.
func (p *Places) IsSeen(path string) (secret, seen bool) {
	if !p.call.Known.Workspace.Sees() || !p.call.Known.Workspace.HasFolders() {
		return false, false
	}
	r := Candidate{Text: path}
	p.locate(&r)
	return r.Secret != "", r.Problem == "" && r.Place.Inside()
}
