package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/sanitize"
)

const (
	startsWithin = time.Minute // limit for the first answer of a run that has claimed the folder: a large state takes a while
	lookEvery    = 50 * time.Millisecond
)

// sharedFolder returns the folder in which the runs of the user with one configuration file have their state and find
// each other. It is "" if the user has no home folder, or if the current folder has the state of an earlier version:
// only runs in this folder use that.
func sharedFolder(config *app.Config, configFile string) (string, error) {
	n := config.NATS
	if n.URL == "" && !n.DirNamed && hasState(n.Dir) {
		return "", nil
	}
	if configFile != "" {
		whole, err := filepath.Abs(configFile)
		if err != nil {
			return "", fmt.Errorf("find %s: %w", configFile, err)
		}
		configFile = whole
	}
	return discovery.FolderOf(discovery.Folder(os.LookupEnv), configFile), nil
}

// Place is the heldcall that serves an agent: one that this run starts, or that of another run.
type Place struct {
	*Setup
	Claim    *discovery.Claim    // to the folder in which others find the heldcall that this run starts; nil: they do not find it
	Attached *discovery.Attached // to the heldcall of another run; nil: this run starts one
}

// errUnclaimed is the reason why other runs and commands do not find the heldcall of this run.
var errUnclaimed = errors.New("its folder cannot be claimed")

// Settle attaches the agent to the heldcall of another run, or prepares one that this run starts. If alone is set, or
// if the other heldcall refuses the agent, that one serves no other agents.
func Settle(ctx context.Context, o Options, version string, alone bool) (*Place, error) {
	notes, err := Adopt(ctx, &o.Config.Proxy, o.Command, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	o.notes = notes
	var refused *discovery.RefusedError
	shared, err := sharedFolder(&o.Config, o.ConfigFile)
	if err != nil {
		return nil, err
	}
	if shared != "" && !alone {
		p, err := settleShared(ctx, o, version, shared)
		if !errors.As(err, &refused) {
			return p, err
		}
	}
	u, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		u.Notes = "heldcall: another heldcall runs, and this run starts its own: " + sanitize.Line(refused.Reason) + "\n" + u.Notes
	}
	folder := StateFolder(os.LookupEnv, u.Config.Policy.WorkDir)
	if folder == "" {
		return &Place{Setup: u}, nil
	}
	claim, err := discovery.Take(folder)
	if err != nil {
		u.NoteUnfound(err)
	}
	return &Place{Setup: u, Claim: claim}, nil
}

// NoteUnfound notes that others do not find the heldcall of this run, and why. It still serves its own agent.
func (u *Setup) NoteUnfound(err error) {
	u.Notes += "heldcall: other runs and commands do not find this heldcall: " + sanitize.Line(err.Error()) + "\n"
}

// settleShared is [Settle] for a run that shares a folder with others.
func settleShared(ctx context.Context, o Options, version, folder string) (*Place, error) {
	o.shared = folder
	u, err := prepare(o)
	if err != nil {
		return nil, err
	}
	agent, err := u.agent(o.ConfigFile, version)
	if err != nil {
		return nil, err
	}
	p := &Place{Setup: u}
	p.Claim, p.Attached, err = claimOrAttach(ctx, folder, agent)
	if errors.Is(err, errUnclaimed) {
		u.NoteUnfound(err)
		err = nil
	}
	return p, err
}

// claimOrAttach claims the folder of a state and returns the claim, or attaches the agent to the run that has claimed
// the folder. It fails with a [*discovery.RefusedError] if that run does not attach this agent, and with errUnclaimed if the
// folder cannot be written.
func claimOrAttach(ctx context.Context, folder string, agent discovery.Agent) (*discovery.Claim, *discovery.Attached, error) {
	for deadline := time.Now().Add(startsWithin); ; {
		claim, err := discovery.Take(folder)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errUnclaimed, err)
		}
		if claim != nil {
			return claim, nil, nil
		}
		attached, err := discovery.Attach(ctx, folder, agent)
		if !errors.Is(err, discovery.ErrNoRun) {
			return nil, attached, err
		}
		if time.Now().After(deadline) {
			return nil, nil, &discovery.RefusedError{Reason: "it does not answer"}
		}
		select {
		case <-time.After(lookEvery): // that run has just been started, or is ending
		case <-ctx.Done():
			return nil, nil, ErrNotStarted
		}
	}
}

// agent describes the command of this run to the run that is to serve it.
func (u *Setup) agent(configFile, version string) (discovery.Agent, error) {
	p := u.Config.Policy
	file, err := filepath.Abs(p.File)
	if err != nil {
		return discovery.Agent{}, fmt.Errorf("find %s: %w", p.File, err)
	}
	config, err := digest(configFile)
	return discovery.Agent{
		Version: version, Config: config, Name: u.Config.Proxy.Agent, Folder: p.WorkDir,
		Policy: file, Optional: !p.FileNamed, Protected: p.Protected, StandIns: u.standIns(), Upstreams: u.upstreamURLs(),
	}, err
}

// digest returns the SHA-256 of a file in hex, "" for no file.
func digest(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// standIns returns the stand-ins for the keys of the upstreams, in the order of the upstreams.
func (u *Setup) standIns() []string {
	standIns := make([]string, len(u.Config.Proxy.Upstreams))
	for i, upstream := range u.Config.Proxy.Upstreams {
		standIns[i] = u.StandIns[string(upstream.APIKey)]
	}
	return standIns
}

// upstreamURLs returns the URLs of the upstreams, in their order. That for logins for ChatGPT follows after a space.
func (u *Setup) upstreamURLs() (urls []string) {
	for _, upstream := range u.Config.Proxy.Upstreams {
		urls = append(urls, strings.TrimSpace(upstream.URL+" "+upstream.ChatGPT))
	}
	return urls
}

// upstreamsOf returns the upstreams for an attached agent, which must have the same. An upstream keeps its key if the
// terminal of the agent has the same key: stand-ins are compared, and keys are never sent.
func (u *Setup) upstreamsOf(agent discovery.Agent) ([]app.Upstream, error) {
	standIns := u.standIns()
	if len(agent.StandIns) != len(standIns) || len(agent.Upstreams) != len(standIns) {
		return nil, errors.New("its configuration has other upstreams")
	}
	var all []app.Upstream
	for i, upstream := range u.Config.Proxy.Upstreams {
		switch url, chatGPT, _ := strings.Cut(agent.Upstreams[i], " "); {
		case url != upstream.URL:
			return nil, fmt.Errorf("its model is at %s", upstream.URL)
		case chatGPT != upstream.ChatGPT:
			return nil, fmt.Errorf("it sends logins for ChatGPT to %s", cmp.Or(upstream.ChatGPT, "no address"))
		}
		switch agent.StandIns[i] {
		case standIns[i]:
		case "":
			upstream.APIKey = ""
		default:
			return nil, fmt.Errorf("it does not have the key of this terminal for %s", upstream.URL)
		}
		all = append(all, upstream)
	}
	return all, nil
}
