package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/proxy"
)

// reload reads the configuration file again while heldcall serves: when it changes, if it is outside of the folders of all
// agents, and on request. It puts in force what needs no restart: reviewers, clients, keys of upstreams and channels. An
// invalid file changes nothing.
type reload struct {
	parts     *parts
	file      string // "": there is none
	log       *slog.Logger
	requested chan struct{}
	state     atomic.Pointer[string] // of the file, for the readiness; "" if all of it is in force

	// These are for the goroutine that watches.
	src        []byte // as last read
	lost       bool   // the last read failed
	refused    string // why the file as last read is not in force, "" if it is
	inForce    Config // as files had it
	unrecorded bool   // the reviewers in force are not in the audit log yet
	late       bool   // and the log has an error about that
}

// newReload makes the reload of a configuration that was read from the file just now.
func newReload(p *parts, loaded Config) *reload {
	r := &reload{parts: p, file: p.options.ConfigFile, log: p.options.Log, requested: make(chan struct{}, 1), inForce: loaded}
	r.state.Store(new(string))
	p.known.Store(new([]approvals.Principal))
	p.addKnown(loaded.Proxy.Clients)
	if r.file == "" {
		return r
	}
	src, err := os.ReadFile(r.file)
	if p.options.KeepRights && err == nil {
		r.inForce, err = LoadConfig(r.file, os.LookupEnv)
	}
	r.src, r.lost = src, err != nil
	return r
}

// addKnown adds the principals of clients to those that are known.
func (p *parts) addKnown(clients []Client) {
	known := p.principals()
	for _, c := range clients {
		if who := c.principal(); !slices.Contains(known, who) {
			known = append(known, who)
		}
	}
	p.known.Store(&known)
}

// startReload watches the file, once everything that a reload changes has started.
func (p *parts) startReload(_ context.Context, running *lifecycle) error {
	running.background("configuration", p.reload.watch)
	return nil
}

// request reads the file at the next opportunity, whether it has changed or not.
func (r *reload) request() {
	select {
	case r.requested <- struct{}{}:
	default: // a reload is already requested
	}
}

// check is the error of a file that is not in force as a whole.
func (r *reload) check(context.Context) error {
	if state := *r.state.Load(); state != "" {
		return errors.New(state)
	}
	return nil
}

// watch reads a changed file, and the file on request, until the context ends.
func (r *reload) watch(ctx context.Context) error {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-r.requested:
			asked = true
		}
		if r.file != "" {
			r.refresh(asked)
		}
		err := r.record(ctx)
		if err != nil && ctx.Err() == nil && !r.late {
			r.log.Error("a change of the reviewers is not in the audit log yet; trying again", "error", err, "every", reloadEvery)
		}
		r.late = err != nil
	}
}

// refresh puts a changed file in force. An invalid one is logged once until it changes, and on request.
func (r *reload) refresh(asked bool) {
	src, err := os.ReadFile(r.file)
	if err == nil && !asked && !r.lost && bytes.Equal(src, r.src) {
		return
	}
	r.src, r.lost = src, err != nil
	var next renewal
	if err == nil {
		next, err = r.read(asked)
	}
	if err != nil {
		if text := err.Error(); asked || text != r.refused {
			r.refused = text
			r.log.Error("the changed configuration is refused; the one before stays in force", "error", err)
		}
		state := r.refusal(err)
		r.state.Store(&state)
		return
	}
	r.refused = ""
	r.put(next)
}

// refusal names the lines and keys of an invalid file. The log has the reasons: they may quote values, and strangers may
// read this.
func (r *reload) refusal(err error) string {
	var places []string
	var problems strictyaml.Errors
	if errors.As(err, &problems) {
		for _, p := range problems {
			places = append(places, strings.TrimSpace(fmt.Sprintf("%s line %d", p.Key, p.Line)))
		}
	}
	if len(places) == 0 {
		return filepath.Base(r.file) + " has changed and is refused: see the log"
	}
	return filepath.Base(r.file) + " has changed and is refused for " + strings.Join(places, ", ") + ": see the log"
}

// renewal is a configuration that can be put in force.
type renewal struct {
	config     Config               // as the file has it, with what stays as it is until a restart
	changed    []string             // keys that come into force
	restart    []string             // keys that need a restart
	directory  *reviewers.Directory // nil: the reviewers stay
	putClients func()               // in force, for the judge; nil: they stay
	notify     bool                 // channels or routes change
	channels   []madeChannel        // if so
	proxy      proxy.Renewal
}

// read reads the file, and prepares what can fail of putting it in force.
func (r *reload) read(asked bool) (n renewal, err error) {
	folder, err := r.parts.judge.FolderOf(r.file)
	if err != nil {
		return n, err
	}
	if !asked && folder != "" {
		return n, fmt.Errorf("%s is in %s, where an agent may have changed it: look at the change, then restart heldcall%s; or move the file (docs/hardening.md)", r.file, folder, r.orSignal())
	}
	file, err := LoadConfig(r.file, os.LookupEnv)
	if err != nil {
		return n, err
	}
	n.config = r.without(&file)
	n.changed, n.restart = r.inForce.changedKeys(&n.config), n.config.changedKeys(&file)
	running := r.running(&n.config)
	if slices.Contains(n.changed, "console.reviewers") {
		if n.directory, err = running.Console.directory(); err != nil {
			return n, fmt.Errorf("console.reviewers: %w", err)
		}
	}
	if slices.Contains(n.changed, "proxy.clients") {
		if n.putClients, err = r.judged(running); err != nil {
			return n, err
		}
	}
	n.notify = slices.ContainsFunc(n.changed, func(key string) bool { return strings.HasPrefix(key, "notify.") })
	if n.notify {
		if n.channels, err = r.parts.channels.makeAll(running.Notify); err != nil {
			return n, err
		}
	}
	n.proxy = proxy.Renewal{Clients: running.Proxy.named(), Upstreams: proxied(running.Proxy.Upstreams)}
	return n, n.proxy.Check()
}

// orSignal is how people ask for a reload, where that is possible.
func (r *reload) orSignal() string {
	if r.parts.options.KeepRights {
		return ""
	}
	return " or send it SIGHUP"
}

// without returns the configuration in force with what of a file needs no restart.
func (r *reload) without(file *Config) Config {
	next, rights := r.inForce, !r.parts.options.KeepRights
	hidden := r.parts.options.Config.Console.limitsTenants() || !file.Console.limitsTenants() // in metrics
	if rights && hidden && next.Console.asks() && file.Console.asks() {
		next.Console.Reviewers = file.Console.Reviewers
	}
	if rights {
		next.Proxy.Clients = file.Proxy.Clients
	}
	if next.Proxy.sameUpstreams(&file.Proxy) && (rights || sameHaveKeys(next.Proxy.Upstreams, file.Proxy.Upstreams)) {
		next.Proxy.Upstreams = file.Proxy.Upstreams
	}
	if r.mayNotify(&file.Notify) {
		next.Notify.Slack, next.Notify.Webhooks, next.Notify.Shoutrrr, next.Notify.Routes = file.Notify.Slack, file.Notify.Webhooks, file.Notify.Shoutrrr, file.Notify.Routes
	}
	return next
}

// mayNotify reports whether other channels can be put in force. Those over which people decide cannot where agents may have
// written the file, and new names cannot where the clients of the embedded NATS server have fixed rights.
func (r *reload) mayNotify(file *NotifyConfig) bool {
	now, o := &r.inForce.Notify, r.parts.options
	if o.KeepRights && !reflect.DeepEqual(now.deciding(), file.deciding()) {
		return false
	}
	if r.parts.reviewers != nil || o.Config.NATS.URL != "" || o.Config.NATS.Listen == "" {
		return true
	}
	known, _ := o.Config.Notify.names()
	names, _ := file.names()
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(known, name) })
}

// deciding returns the channels over which people decide.
func (c *NotifyConfig) deciding() (all []any) {
	for _, s := range c.Slack {
		all = append(all, s)
	}
	for _, w := range c.Webhooks {
		if w.Reviewer != "" {
			all = append(all, w)
		}
	}
	return all
}

// sameHaveKeys reports whether the same upstreams have a key. Agents that were started with a stand-in for one keep it, and
// others have their own key.
func sameHaveKeys(a, b []Upstream) bool {
	return slices.EqualFunc(a, b, func(a, b Upstream) bool { return (a.APIKey == "") == (b.APIKey == "") })
}

// running returns the configuration in force, with all that the program has changed, and the values of another that need no
// restart.
func (r *reload) running(with *Config) *Config {
	next := *r.parts.inForce.Load()
	if !r.parts.options.KeepRights {
		next.Console.Reviewers, next.Proxy.Clients = with.Console.Reviewers, with.Proxy.Clients
	}
	next.Notify = with.Notify
	next.Proxy.Upstreams = slices.Clone(next.Proxy.Upstreams)
	for i, u := range r.inForce.Proxy.Upstreams {
		for j, now := range next.Proxy.Upstreams {
			if now.Prefix == u.Prefix && now.URL == u.URL && now.APIKey == u.APIKey {
				next.Proxy.Upstreams[j].APIKey = with.Proxy.Upstreams[i].APIKey
			}
		}
	}
	return &next
}

// judged prepares the policies of clients.
func (r *reload) judged(running *Config) (put func(), err error) {
	clients, err := running.judgedClients(running.ownFiles(r.file))
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, c := range running.Proxy.Clients {
		keys = append(keys, c.digest())
	}
	if put, err = r.parts.judge.Renew(clients, keys); err != nil {
		return nil, fmt.Errorf("proxy.clients: %w", err)
	}
	return put, nil
}

// put puts a configuration in force, and logs which keys have changed.
func (r *reload) put(n renewal) {
	p := r.parts
	running := r.running(&n.config)
	if n.putClients != nil {
		p.addKnown(running.Proxy.Clients)
		n.putClients()
	}
	p.inForce.Store(running)
	r.inForce = n.config
	p.proxy.Renew(n.proxy)
	if n.directory != nil {
		r.replaceReviewers(n.directory)
	}
	if n.notify {
		if err := p.channels.replace(n.channels, running.Notify.routes()); err != nil {
			r.log.Error("the changed channels are not in force as a whole: restart heldcall", "error", err)
		}
	}
	if len(n.changed) > 0 {
		r.log.Info("the configuration has changed", "file", absolute(r.file), "keys", n.changed)
	} else {
		r.log.Info("the configuration has been read again: nothing has changed that is put in force without a restart", "file", absolute(r.file))
	}
	state := ""
	if len(n.restart) > 0 {
		state = "changed in " + filepath.Base(r.file) + ", and taken at the next start: " + strings.Join(n.restart, ", ")
		r.log.Warn("keys of the configuration have changed that need a restart; until then they stay as they were", "file", absolute(r.file), "keys", n.restart)
	}
	r.state.Store(&state)
}

// replaceReviewers ends the sessions, streams and connections of reviewers who are removed or have other rights.
func (r *reload) replaceReviewers(directory *reviewers.Directory) {
	p := r.parts
	changed := p.reviewers.Replace(directory)
	if p.store.disconnect != nil {
		if err := p.store.disconnect(changed); err != nil {
			r.log.Error("reviewers whose rights have changed may still be connected to NATS: restart heldcall", "reviewers", changed, "error", err)
		}
	}
	if len(changed) > 0 {
		r.log.Info("reviewers were removed, or have other rights", "reviewers", changed)
	}
	if len(changed) > 0 && p.options.Config.NATS.URL != "" {
		r.log.Warn("the NATS server of nats.url authenticates reviewers by its own configuration: change that too (heldcall nats permissions)")
	}
	r.unrecorded = true
}

// record writes the reviewers in force to the audit log, if they have changed.
func (r *reload) record(ctx context.Context) error {
	if !r.unrecorded {
		return nil
	}
	all, settings := r.parts.inForce.Load().Console.reviewerRights()
	changes := audit.NewChanges(r.parts.store.events)
	if err := changes.Reviewers(ctx, all, settings); err != nil {
		return err
	}
	r.unrecorded = false
	return nil
}
