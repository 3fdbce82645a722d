package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Changes records changes of the configuration in the log. It is for one goroutine.
type Changes struct {
	log      Stored
	ids      approvals.IDSource
	recorded map[string]string // SHA-256 of policy files as they were last recorded; nil: not read yet
}

// NewChanges returns the changes in a log.
func NewChanges(log Stored) *Changes { return &Changes{log: log} }

// Policies records the policy files in force that differ from those last recorded, by name and
// SHA-256 in hex, and reports whether any does. The first call reads the log.
func (c *Changes) Policies(ctx context.Context, inForce map[string]string) (changed bool, err error) {
	if c.recorded == nil {
		changes, err := c.log.Changes(ctx, approvals.EventPolicyChanged)
		if err != nil {
			return false, err
		}
		recorded := map[string]string{}
		for _, entry := range changes {
			if v := entry.Event.Policy; v != nil {
				recorded[v.File] = v.SHA256
			}
		}
		c.recorded = recorded
	}
	for file := range c.recorded {
		inForce[file] += "" // one that is no longer used has no content
	}
	for _, file := range slices.Sorted(maps.Keys(inForce)) {
		sum := inForce[file]
		if c.recorded[file] == sum {
			continue
		}
		if err := c.record(ctx, approvals.Event{Type: approvals.EventPolicyChanged, Policy: &approvals.PolicyVersion{File: file, SHA256: sum}}); err != nil {
			return changed, err
		}
		c.recorded[file], changed = sum, true
	}
	return changed, nil
}

// Reviewers records the configured reviewers, and the settings that give rights to others, if
// they differ from those last recorded.
func (c *Changes) Reviewers(ctx context.Context, all []approvals.ReviewerRights, settings string) error {
	changes, err := c.log.Changes(ctx, approvals.EventReviewersChanged)
	if err != nil {
		return err
	}
	var last approvals.Event
	if n := len(changes); n > 0 {
		last = changes[n-1].Event
	}
	same := func(a, b approvals.ReviewerRights) bool {
		groups := slices.Equal(a.Groups, b.Groups)
		return groups && a.Name == b.Name && a.Role == b.Role && a.User == b.User && a.Slack == b.Slack && a.HasToken == b.HasToken
	}
	if last.Note == settings && slices.EqualFunc(last.Reviewers, all, same) {
		return nil
	}
	return c.record(ctx, approvals.Event{Type: approvals.EventReviewersChanged, Reviewers: all, Note: settings})
}

func (c *Changes) record(ctx context.Context, e approvals.Event) error {
	e.Time = time.Now().UTC()
	e.ID = c.ids.Next(e.Time)
	if err := c.log.AppendEvents(ctx, e); err != nil {
		return fmt.Errorf("record %s: %w", e.Type, err)
	}
	return nil
}
