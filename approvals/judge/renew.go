package judge

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Renew reads the policies of clients that have one of their own, in place of those of [Options], and returns what puts
// them in force: not before it is called. keys are the SHA-256 of the keys of all clients of the configuration. A client
// whose key is not among them keeps its policy, by which its held calls are judged. Nothing else may join or leave until
// put is called, or abandoned.
func (j *Judge) Renew(clients []ClientPolicy, keys []string) (put func(), err error) {
	j.joining.Lock()
	defer j.joining.Unlock()
	now := j.roster.Load()
	next := &roster{sources: []*Source{j.main}}
	for _, c := range now.clients {
		if !slices.Contains(keys, c.KeySHA256) {
			next.take(c)
		}
	}
	for _, c := range clients {
		file := cmp.Or(c.File, j.main.file)
		i := slices.IndexFunc(now.sources, func(s *Source) bool { return s.file == file })
		if i >= 0 {
			c.source = now.sources[i]
		} else {
			c.source = next.source(file, j.main.options)
		}
		next.take(c)
	}
	for _, s := range next.sources {
		if s.name != "" {
			continue
		}
		s.name = uniqueName(s.file, append(slices.Clone(now.sources), next.sources...))
		if err := s.load(); err != nil {
			return nil, err
		}
	}
	return func() {
		j.joining.Lock()
		defer j.joining.Unlock()
		j.roster.Store(next)
	}, nil
}

// take adds a client and its policy.
func (r *roster) take(c ClientPolicy) {
	if !slices.Contains(r.sources, c.source) {
		r.sources = append(r.sources, c.source)
	}
	r.clients = append(r.clients, c)
}

// FolderOf returns a folder of agents that holds a file, "" if none does: agents may have changed the file then.
func (j *Judge) FolderOf(file string) (string, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("find the folder of %s: %w", file, err)
	}
	all := j.roster.Load()
	agents := []string{j.folder}
	for _, s := range all.sources {
		if folder := s.Policy().Workspace().Holds(file); folder != "" {
			return folder, nil
		}
		agents = append(agents, s.options.Agent.Folder)
	}
	for i := range all.clients {
		if folder := all.clients[i].policy().Workspace().Holds(file); folder != "" {
			return folder, nil
		}
		agents = append(agents, all.clients[i].Folder)
	}
	for _, folder := range agents {
		if folder != "" && workspace.FolderHolds(folder, file) {
			return folder, nil
		}
	}
	return j.grants.current().FolderOf(file), nil
}
