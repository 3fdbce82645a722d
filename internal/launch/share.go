package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/sanitize"
)

const (
	startsWithin = 20 * time.Second // for a run that has claimed the folder to answer
	lookEvery    = 50 * time.Millisecond
)

// Shared returns the folder of the state that the runs of the user with one configuration file share, and in which
// they find each other. It is "" if the user has no home folder, or if the current folder has the state of an earlier
// version, which only runs in this folder use.
func Shared(config *app.Config, configFile string) (string, error) {
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
	return discovery.Of(discovery.Folder(os.LookupEnv), configFile), nil
}

// Place is where an agent is served: by a heldcall that this run starts, or by another one.
type Place struct {
	*Setup
	Claim    *discovery.Claim    // of the folder in which others find the heldcall that is to start; nil: they do not
	Attached *discovery.Attached // nil: this run starts a heldcall
}

// errUnclaimed is why other runs and commands do not find a heldcall.
var errUnclaimed = errors.New("its folder cannot be claimed")

// Settle attaches the agent to the heldcall of another run, or prepares one of its own. The latter is for this
// agent alone if alone is set, or if the other one refuses.
func Settle(ctx context.Context, o Options, version string, alone bool) (*Place, error) {
	var refused *discovery.Refusal
	shared, err := Shared(&o.Config, o.ConfigFile)
	if err != nil {
		return nil, err
	}
	if shared != "" && !alone {
		p, err := settleShared(ctx, o, version, shared)
		if !errors.As(err, &refused) {
			return p, err
		}
	}
	u, err := Prepare(o)
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
		u.unfound(err)
	}
	return &Place{Setup: u, Claim: claim}, nil
}

// unfound notes that others do not find the heldcall of this run, which serves its own agent all the same.
func (u *Setup) unfound(err error) {
	u.Notes += "heldcall: other runs and commands do not find this heldcall: " + sanitize.Line(err.Error()) + "\n"
}

// settleShared is Settle in the folder that runs share.
func settleShared(ctx context.Context, o Options, version, folder string) (*Place, error) {
	o.Shared = folder
	u, err := Prepare(o)
	if err != nil {
		return nil, err
	}
	agent, err := u.Agent(o.ConfigFile, version)
	if err != nil {
		return nil, err
	}
	p := &Place{Setup: u}
	p.Claim, p.Attached, err = Join(ctx, folder, agent)
	if errors.Is(err, errUnclaimed) {
		u.unfound(err)
		err = nil
	}
	return p, err
}

// Join claims the folder of a state, or attaches the agent to the run that has claimed it. It returns one of both.
// It fails with a [*discovery.Refusal] if that run does not serve this agent, and with errUnclaimed if the folder
// cannot be written.
func Join(ctx context.Context, folder string, agent discovery.Agent) (*discovery.Claim, *discovery.Attached, error) {
	for deadline := time.Now().Add(startsWithin); ; {
		claim, err := discovery.Take(folder)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errUnclaimed, err)
		}
		if claim != nil {
			return claim, nil, nil
		}
		attached, err := discovery.Attach(ctx, folder, agent)
		if !errors.Is(err, discovery.ErrNobody) {
			return nil, attached, err
		}
		if time.Now().After(deadline) {
			return nil, nil, &discovery.Refusal{Reason: "it does not answer"}
		}
		select {
		case <-time.After(lookEvery): // it has just been started, or is ending
		case <-ctx.Done():
			return nil, nil, ErrNotStarted
		}
	}
}

// Agent is what another run needs to serve the command of this one.
func (u *Setup) Agent(configFile, version string) (discovery.Agent, error) {
	p := u.Config.Policy
	file, err := filepath.Abs(p.File)
	if err != nil {
		return discovery.Agent{}, fmt.Errorf("find %s: %w", p.File, err)
	}
	config, err := digest(configFile)
	return discovery.Agent{
		Version: version, Config: config, Name: u.Config.Proxy.Agent, Folder: p.WorkDir,
		Policy: file, Optional: !p.FileNamed, Protected: p.Protected, StandIns: u.standIns(),
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

// standIns returns the substitutes for the keys of the upstreams, in their order.
func (u *Setup) standIns() []string {
	all := make([]string, len(u.Config.Proxy.Upstreams))
	for i, upstream := range u.Config.Proxy.Upstreams {
		all[i] = u.StandIns[string(upstream.APIKey)]
	}
	return all
}

// upstreamsOf returns the upstreams for an attached agent. They have a key where the agent has the same: it
// is compared by its substitute, and never sent.
func (u *Setup) upstreamsOf(agent discovery.Agent) ([]app.Upstream, error) {
	own := u.standIns()
	if len(agent.StandIns) != len(own) {
		return nil, errors.New("it has other upstreams")
	}
	var all []app.Upstream
	for i, upstream := range u.Config.Proxy.Upstreams {
		switch agent.StandIns[i] {
		case own[i]:
		case "":
			upstream.APIKey = ""
		default:
			return nil, fmt.Errorf("it does not have this terminal's key for %s", upstream.URL)
		}
		all = append(all, upstream)
	}
	return all, nil
}
