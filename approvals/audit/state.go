package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// comparedRequests is the number of entries before the end of the log whose requests are
	// compared with the state: an older copy of a state lacks the newest ones.
	comparedRequests = 1_000
	// expiryMargin is the time before the end of the retention in which a record may be gone while
	// its entries are not.
	expiryMargin = time.Hour
)

// State is the recorded state, as far as the log describes it.
type State struct {
	Gate      approvals.Store
	Grants    approvals.GrantStore
	Retention time.Duration // of requests and runs
}

// Difference is a record that differs from the log.
type Difference struct {
	Seq     uint64 `json:"seq"`  // the entry, 0 if the log has none about the record
	Kind    string `json:"kind"` // request, run, signal, grant or delegation
	ID      string `json:"id"`
	Problem string `json:"problem"`
}

func (d Difference) String() string {
	text := fmt.Sprintf("%s %s %s", d.Kind, d.ID, d.Problem)
	if d.Seq > 0 {
		text += fmt.Sprintf(" (entry %d)", d.Seq)
	}
	return text
}

// StateError reports that the state differs from the log: it was replaced by an older copy, or
// was changed.
type StateError struct{ Differences []Difference }

func (e *StateError) Error() string {
	const shown = 5
	var texts []string
	for _, d := range e.Differences[:min(shown, len(e.Differences))] {
		texts = append(texts, d.String())
	}
	if more := len(e.Differences) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "the state is not as the audit log says: " + strings.Join(texts, "; ")
}

// assertion is the last entry about a record.
type assertion struct {
	entry  Entry
	counts int  // decisions, of a request
	ends   bool // it states the end of the record
}

// comparison compares a state with a log.
type comparison struct {
	State
	log         Stored
	since       uint64    // the first entry that counts
	began       time.Time // when the log began
	now         time.Time
	signed      uint64 // the last checkpoint; a crash may have left out the records of entries after it
	differences []Difference
	incomplete  []Entry // of grants that a crash may have left without their record
}

// CompareState compares the state with what the log says since the last accepted loss: runs and
// principals that were paused, resumed or stopped, grants, trust windows and delegations, and the
// requests in the last entries. It completes grants that a crash has left between entry and record. It fails with
// a [*StateError] if a record is missing, older than the log, or not in the log.
func (k *Keeper) CompareState(ctx context.Context, state State) error {
	c, err := compare(ctx, k.Log, state, k.Now())
	if err != nil {
		return err
	}
	for _, entry := range c.incomplete {
		if err := c.complete(ctx, entry.Event); err != nil {
			return err
		}
	}
	if len(c.differences) > 0 {
		return &StateError{c.differences}
	}
	return nil
}

// Differences compares the state with the log, as [Keeper.CompareState] does, and changes nothing.
func Differences(ctx context.Context, log Stored, state State) ([]Difference, error) {
	c, err := compare(ctx, log, state, time.Now())
	return c.differences, err
}

func compare(ctx context.Context, log Stored, state State, now time.Time) (*comparison, error) {
	c := &comparison{State: state, log: log, now: now}
	head, err := log.Head(ctx)
	if err != nil || head.Seq == 0 {
		return c, err
	}
	for _, part := range []func(context.Context) error{
		c.begin,
		func(ctx context.Context) error { return c.requests(ctx, head.Seq) },
		c.signals,
		c.grants,
		c.delegations,
	} {
		if err := part(ctx); err != nil {
			return c, fmt.Errorf("compare the state with the audit log: %w", err)
		}
	}
	return c, nil
}

// begin finds the entries that count: those after the last accepted loss.
func (c *comparison) begin(ctx context.Context) error {
	first, err := c.log.First(ctx)
	if err != nil {
		return err
	}
	c.since = first.Seq
	losses, err := c.log.Changes(ctx, approvals.EventLossAccepted)
	if err != nil {
		return err
	}
	for _, loss := range losses {
		c.since = max(c.since, loss.Seq)
	}
	entry, err := c.log.Entry(ctx, c.since)
	c.began = entry.Event.Time
	return err
}

// last collects the last entry about each record in the entries of some types. id returns "" for an
// entry that is about none.
func (c *comparison) last(ctx context.Context, types []approvals.EventType, id func(*approvals.Event) string) (map[string]assertion, error) {
	said := map[string]assertion{}
	for _, t := range types {
		for entry, err := range c.log.OfType(ctx, t, c.since) {
			if err != nil {
				return nil, err
			}
			name := id(&entry.Event)
			if before, known := said[name]; name != "" && (!known || entry.Event.Time.After(before.entry.Event.Time)) {
				said[name] = assertion{entry: entry}
			}
		}
	}
	return said, nil
}

func (c *comparison) differ(said assertion, kind, id, problem string, args ...any) {
	c.differences = append(c.differences, Difference{said.entry.Seq, kind, id, fmt.Sprintf(problem, args...)})
}

// mayHaveExpired reports whether the record of an entry may have been removed by age.
func (c *comparison) mayHaveExpired(said assertion) bool {
	return c.Retention > 0 && c.now.Sub(said.entry.Event.Time) > c.Retention-expiryMargin
}

// states are those of runs after the events of signals.
var states = map[approvals.EventType]approvals.SignalAction{
	approvals.EventRunPaused: approvals.SignalPause, approvals.EventRunResumed: approvals.SignalResume, approvals.EventRunAborted: approvals.SignalAbort,
}

// signals compares the runs, and the signals to principals.
func (c *comparison) signals(ctx context.Context) error {
	types := []approvals.EventType{approvals.EventRunPaused, approvals.EventRunResumed, approvals.EventRunAborted}
	runs, err := c.last(ctx, types, func(e *approvals.Event) string { return e.RunID })
	if err != nil {
		return err
	}
	for id, said := range runs {
		if err := c.run(ctx, id, said); err != nil {
			return err
		}
	}
	principals, err := c.last(ctx, types, func(e *approvals.Event) string {
		if e.RunID != "" {
			return ""
		}
		return (&approvals.PrincipalSignal{Principal: e.Principal}).Key()
	})
	if err != nil {
		return err
	}
	for id, said := range principals {
		if err := c.signal(ctx, id, said); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) run(ctx context.Context, id string, said assertion) error {
	e := &said.entry.Event
	want, _ := states[e.Type].Effect()
	run, _, err := c.Gate.Runs().Get(ctx, id)
	switch {
	case errors.Is(err, approvals.ErrUnknownRun):
		if !c.mayHaveExpired(said) {
			c.differ(said, "run", id, "is missing, and the log says that it is %s", want)
		}
	case err != nil:
		return err
	case run.State != want && (want == approvals.RunAborted || run.UpdatedAt.Before(e.Time)):
		c.differ(said, "run", id, "is %s, and the log says that it is %s", run.State, want)
	}
	return nil
}

func (c *comparison) signal(ctx context.Context, id string, said assertion) error {
	e := &said.entry.Event
	signal, _, err := c.Gate.Signals().Get(ctx, id)
	switch {
	case errors.Is(err, approvals.ErrUnknownSignal):
		c.differ(said, "signal", id, "is missing, and the log says that it is %s", states[e.Type])
	case err != nil:
		return err
	case signal.Action != states[e.Type] && signal.Since.Before(e.Time):
		c.differ(said, "signal", id, "is %s, and the log says that it is %s", signal.Action, states[e.Type])
	}
	return nil
}

// grants compares the grants and trust windows.
func (c *comparison) grants(ctx context.Context) error {
	ofGrant := func(e *approvals.Event) string {
		if e.Grant == nil {
			return ""
		}
		return e.Grant.ID
	}
	begun, err := c.last(ctx, []approvals.EventType{approvals.EventGrantCreated, approvals.EventWindowOpened, approvals.EventWorkspaceAdded}, ofGrant)
	if err != nil {
		return err
	}
	ended, err := c.last(ctx, []approvals.EventType{approvals.EventGrantRevoked, approvals.EventWindowClosed}, ofGrant)
	if err != nil {
		return err
	}
	recorded, err := c.recordedGrants(ctx)
	if err != nil {
		return err
	}
	for id, said := range ended {
		if _, exists := recorded[id]; exists {
			c.differGrant(said, id, "is in force, and the log says that it has ended")
		}
	}
	maps.DeleteFunc(begun, func(id string, _ assertion) bool { _, over := ended[id]; return over })
	for id, said := range begun {
		grant, exists := recorded[id]
		switch e := &said.entry.Event; {
		case exists && !sameGrant(grant, *e.Grant):
			c.differ(said, "grant", id, "is not what the log says that it is")
		case !exists && !e.Grant.Expired(c.now):
			c.differGrant(said, id, "is missing, and the log says that it is in force")
		}
	}
	maps.DeleteFunc(recorded, func(id string, grant approvals.Grant) bool {
		_, known := begun[id]
		_, over := ended[id]
		return known || over || !grant.CreatedAt.After(c.began)
	})
	for id := range recorded {
		c.differ(assertion{}, "grant", id, "is in force, and the log does not say so")
	}
	return nil
}

// differGrant reports a difference of a grant, unless its record may not be written yet.
func (c *comparison) differGrant(said assertion, id, problem string) {
	if said.entry.Seq < c.signed {
		c.differ(said, "grant", id, "%s", problem)
		return
	}
	c.incomplete = append(c.incomplete, said.entry)
}

// complete writes the record of a grant as the log has it.
func (c *comparison) complete(ctx context.Context, e approvals.Event) (err error) {
	switch e.Type {
	case approvals.EventGrantRevoked, approvals.EventWindowClosed:
		err = c.Grants.DeleteGrant(ctx, e.Grant.ID)
	default:
		if _, err = c.Grants.PutGrant(ctx, *e.Grant, 0); errors.Is(err, approvals.ErrConflict) {
			err = nil // written meanwhile
		}
	}
	if err != nil {
		return fmt.Errorf("complete grant %s: %w", e.Grant.ID, err)
	}
	return nil
}

// recordedGrants returns the grants in the state by their ids.
func (c *comparison) recordedGrants(ctx context.Context) (map[string]approvals.Grant, error) {
	ctx, loaded := context.WithCancel(ctx)
	defer loaded()
	recorded, complete := map[string]approvals.Grant{}, false
	err := c.Grants.WatchGrants(ctx,
		func(g approvals.Grant, _ uint64) { recorded[g.ID] = g },
		func(id string) { delete(recorded, id) },
		func() { complete = true; loaded() })
	if !complete {
		return nil, errors.Join(fmt.Errorf("read the grants: %w", context.Cause(ctx)), err)
	}
	return recorded, nil
}

// sameGrant reports whether two grants are the same but for their uses.
func sameGrant(a, b approvals.Grant) bool {
	for _, g := range []*approvals.Grant{&a, &b} {
		g.Uses, g.LastUsedAt = 0, nil
	}
	first, err := json.Marshal(a)
	if err != nil {
		return false
	}
	second, err := json.Marshal(b)
	return err == nil && string(first) == string(second)
}

// delegations compares the delegations that have not reached their end. Entries of earlier versions have none.
func (c *comparison) delegations(ctx context.Context) error {
	said, err := c.last(ctx, []approvals.EventType{approvals.EventDelegationCreated, approvals.EventDelegationRevoked}, func(e *approvals.Event) string {
		if e.Delegation == nil || !c.now.Before(e.Delegation.Until) {
			return ""
		}
		return e.Delegation.ID
	})
	if err != nil {
		return err
	}
	for id, said := range said {
		logged := said.entry.Event.Delegation
		stored, _, err := c.Gate.Delegations().Get(ctx, id)
		switch {
		case errors.Is(err, approvals.ErrUnknownDelegation):
			c.differ(said, "delegation", id, "is missing")
		case err != nil:
			return err
		case logged.RevokedAt != nil && stored.RevokedAt == nil:
			c.differ(said, "delegation", id, "is in force, and the log says that it was revoked")
		case stored.From != logged.From || stored.To != logged.To || !stored.Until.Equal(logged.Until):
			c.differ(said, "delegation", id, "is not what the log says that it is")
		}
	}
	return nil
}

// requests compares the requests of the last entries, up to an entry.
func (c *comparison) requests(ctx context.Context, to uint64) error {
	said, ids := map[string]assertion{}, []string(nil)
	from := c.since
	if to > comparedRequests {
		from = max(from, to-comparedRequests)
	}
	for entry, err := range c.log.Entries(ctx, from) {
		if err != nil {
			return err
		}
		id := entry.Event.RequestID
		before, known := said[id]
		before.entry = entry
		switch entry.Event.Type {
		case approvals.EventCheckpoint:
			c.signed = entry.Seq
			continue
		case approvals.EventApprovalRequired:
		case approvals.EventApprovalDecision:
			before.counts++
		case approvals.EventApprovalExpired, approvals.EventApprovalCancelled:
			before.ends = true
		default:
			continue
		}
		if !known {
			ids = append(ids, id)
		}
		said[id] = before
	}
	return c.compareRequests(ctx, ids, said)
}

// compareRequests compares requests with the log, the last one first.
func (c *comparison) compareRequests(ctx context.Context, ids []string, said map[string]assertion) error {
	missing, err := c.Gate.MissingRequests(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		if s := said[id]; s.counts == 0 && !s.ends && !slices.Contains(missing, id) {
			continue // the log has its beginning only
		}
		if err := c.request(ctx, id, said[id]); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) request(ctx context.Context, id string, said assertion) error {
	stored, err := c.Gate.GetRequest(ctx, id)
	r := &stored.Request
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest):
		if !c.mayHaveExpired(said) {
			c.differ(said, "request", id, "is missing")
		}
	case err != nil:
		return err
	case len(r.Decisions) < said.counts:
		c.differ(said, "request", id, "has %d decisions, and the log has %d", len(r.Decisions), said.counts)
	case said.ends && !r.Status.Final():
		c.differ(said, "request", id, "is %s, and the log says that it has ended", r.Status)
	}
	return nil
}
