package launch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

const (
	detachWithin = 30 * time.Second // limit for the end of an agent's connections
	maxPolicy    = 16 << 20         // bytes of the policy of an attached agent
	maxTool      = 500              // bytes of the name of a tool that an attached run shows
	maxEvents    = 256              // events that wait to be sent to the run of an attached agent; more are dropped
)

// Host attaches the agents of other runs to the heldcall of this run. It sends each event to the run of
// the agent that the event is about.
type Host struct {
	setup *Setup
	log   *slog.Logger
	own   func(approvals.Event, discovery.Held) // shows events of this run's agent

	mu       sync.Mutex
	attached []*attachment
}

// NewHost returns the host of a run whose heldcall is not started yet. own shows the events about the run's
// own agent.
func NewHost(u *Setup, log *slog.Logger, own func(approvals.Event, discovery.Held)) *Host {
	return &Host{setup: u, log: log, own: own}
}

// Event shows an event in the run of its agent. request is that of an approval_required, or nil.
func (h *Host) Event(e approvals.Event, request *approvals.Request) {
	held := shownHeld(request)
	h.mu.Lock()
	attached := false
	for _, a := range h.attached {
		if a.name == e.Principal.Agent {
			attached = true
			select {
			case a.events <- discovery.Notice{Event: shown(e), Held: held}:
			default:
			}
		}
	}
	h.mu.Unlock()
	if attached && e.Principal.Agent != h.setup.Config.Proxy.Agent {
		app.LogEvent(h.log, e)
		return
	}
	h.own(e, held)
}

// shownHeld returns what a terminal shows of a request.
func shownHeld(r *approvals.Request) discovery.Held {
	if r == nil {
		return discovery.Held{}
	}
	return discovery.Held{
		Preview: textview.Summary(r), Heading: textview.Shorten(sanitize.Line(approvals.Heading([]approvals.Request{*r})), 2*textview.PreviewWidth), ExpiresAt: r.ExpiresAt,
	}
}

// shown returns the fields of an event that an attached run shows: see [Notices.Event]. The others may be longer
// than a line of its connection, which would end, and with it the service of its agent.
func shown(e approvals.Event) approvals.Event {
	return approvals.Event{
		Type: e.Type, RequestID: e.RequestID, Kind: e.Kind, ToolName: e.ToolName[:min(len(e.ToolName), maxTool)], Action: e.Action, ReviewerID: e.ReviewerID,
	}
}

// Serve lets commands and other runs find a heldcall that serves. It attaches the agents of other runs
// only if its state is shared. Without a claim it returns nil: the heldcall is not found.
func (h *Host) Serve(claim *discovery.Claim, heldcall *app.App, version, configFile string) (*discovery.Server, error) {
	if claim == nil {
		return nil, nil
	}
	config, err := digest(configFile)
	if err != nil {
		return nil, err
	}
	c := &h.setup.Config
	console := "http://" + app.Reachable(strings.TrimPrefix(heldcall.ConsoleURL(), "http://"))
	o := discovery.Options{
		Config: config, Tokens: c.Console.TokenHashes(),
		About: discovery.About{Version: version, Console: console, Inbox: cmp.Or(c.Console.URL, console), Agents: []string{c.Proxy.Agent}, Ports: []discovery.Port{{Folder: c.Policy.WorkDir, Proxy: app.Reachable(heldcall.ProxyAddr())}}},
	}
	if h.setup.Shared {
		o.Attach = func(ctx context.Context, agent discovery.Agent) (discovery.Attachment, error) {
			return h.attach(ctx, heldcall, agent)
		}
	}
	return claim.Serve(o)
}

// attachment is an agent of another run.
type attachment struct {
	*app.Attached
	host   *Host
	name   string
	events chan discovery.Notice
}

func (h *Host) attach(ctx context.Context, heldcall *app.App, agent discovery.Agent) (discovery.Attachment, error) {
	if err := checkPaths(agent); err != nil {
		return nil, err
	}
	upstreams, err := h.setup.upstreamsOf(agent)
	if err != nil {
		return nil, err
	}
	served, err := heldcall.Attach(ctx, app.Agent{
		ID: "attached " + rand.Text(), Name: agent.Name, Upstreams: upstreams,
		Policy: app.PolicyConfig{File: agent.Policy, FileNamed: !agent.Optional, WorkDir: agent.Folder, Protected: agent.Protected},
	})
	if err != nil {
		return nil, err
	}
	a := &attachment{Attached: served, host: h, name: agent.Name, events: make(chan discovery.Notice, maxEvents)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attached = append(h.attached, a)
	h.log.Info("an agent is attached", "agent", agent.Name, "policy", agent.Policy, "proxy", served.ProxyAddr())
	return a, nil
}

// checkPaths checks the paths that another program has sent: they must not depend on the folder of this process, and
// the policy must be a file of bounded size.
func checkPaths(agent discovery.Agent) error {
	if !filepath.IsAbs(agent.Folder) || !filepath.IsAbs(agent.Policy) {
		return errors.New("its folder or policy is not an absolute path")
	}
	info, err := os.Stat(agent.Policy)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it may be optional
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() > maxPolicy:
		return fmt.Errorf("its policy %s is not a file of at most %d bytes", agent.Policy, maxPolicy)
	}
	return nil
}

// Proxy returns the host:port for the agent's requests to models.
func (a *attachment) Proxy() string { return a.ProxyAddr() }

// Events returns the channel with the events about the agent's calls.
func (a *attachment) Events() <-chan discovery.Notice { return a.events }

// Leave ends the service of the agent and returns what came from it.
func (a *attachment) Leave() discovery.Report {
	ctx, cancel := context.WithTimeout(context.Background(), detachWithin)
	defer cancel()
	if err := a.Detach(ctx); err != nil {
		a.host.log.Warn("failed to end the connections of an agent that has left", "agent", a.name, "error", err)
	}
	a.host.mu.Lock()
	defer a.host.mu.Unlock()
	a.host.attached = slices.DeleteFunc(a.host.attached, func(other *attachment) bool { return other == a })
	a.host.log.Info("an agent has left", "agent", a.name)
	return Report(a)
}

// counted counts what came from an agent.
type counted interface {
	AgentRequests() (int, error)
	ToolOffers() (requests, offering int)
}

// Report returns what came from an agent: from those of an [app.App], or from an attached one.
func Report(agent counted) (r discovery.Report) {
	r.Requests, _ = agent.AgentRequests() // reading metrics of this process does not fail
	r.Model, r.Offering = agent.ToolOffers()
	return r
}
