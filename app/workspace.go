package app

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// workspace returns the folders in which the client's agent works, nil if the configuration names
// none.
func (c Client) workspace() (*workspace.Workspace, error) {
	var folders []workspace.Folder
	for _, text := range c.Workspace {
		if !filepath.IsAbs(text) {
			return nil, fmt.Errorf("%q is no absolute folder", text)
		}
		folder, err := workspace.NewFolder(text, "")
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return workspace.New(folders), nil
}

// judged returns how calls of the client are judged. It fails if its workspace holds one of
// heldcall's own files.
func (c Client) judged(all *Config, own []string) (judge.ClientPolicy, error) {
	one := judge.ClientPolicy{KeySHA256: c.digest(), Principal: c.principal(), File: c.Policy, Folder: c.WorkDir}
	w, err := c.workspace()
	if err != nil {
		return one, err
	}
	for _, file := range append(own, all.PolicyFiles()...) {
		if folder := w.Holds(absolute(file)); folder != "" {
			return one, fmt.Errorf("%s holds heldcall's own file %s, which agents may not write: move it (docs/hardening.md)", folder, file)
		}
	}
	one.Workspace = w
	return one, nil
}

// judgedClients returns the clients with a policy, a workspace or a folder of their own.
func (c *Config) judgedClients(own []string) (all []judge.ClientPolicy, err error) {
	for i, client := range c.Proxy.Clients {
		judged, err := client.judged(c, own)
		if err != nil {
			return nil, fmt.Errorf("proxy.clients[%d].workspace: %w", i, err)
		}
		if judged.File != "" || judged.Workspace != nil || judged.Folder != "" {
			all = append(all, judged)
		}
	}
	return all, nil
}

// ownFiles are heldcall's files and folders beside policies that no workspace may hold, with absolute paths. Under
// `heldcall run` the configuration file may be in the folder of the agent: it is protected, and the start warns of it.
func (c *Config) ownFiles(configFile string) []string {
	if slices.Contains(c.Policy.Protected, absolute(configFile)) {
		configFile = ""
	}
	files := []string{configFile, c.AuditDir(), c.Secrets.KeyFile, c.NATS.Creds, c.NATS.NKey, c.NATS.TLS.Key}
	if c.NATS.URL == "" {
		files = append(files, c.NATS.Dir)
	}
	var found []string
	for _, file := range files {
		if file != "" {
			found = append(found, absolute(file))
		}
	}
	return found
}

func (r *configValidator) validateWorkDir(key, folder string) {
	if folder != "" && !filepath.IsAbs(folder) {
		r.Problem(key, "%q is no absolute folder", folder)
	}
}
