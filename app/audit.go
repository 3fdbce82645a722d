package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/judge"
)

// lastCheckpointWithin bounds the checkpoint at the stop.
const lastCheckpointWithin = 2 * time.Second

// AuditDir returns the folder of the key and the last checkpoint of the audit log: audit.dir,
// else one beside nats.dir.
func (c *Config) AuditDir() string {
	return cmp.Or(c.Audit.Dir, filepath.Clean(c.NATS.Dir)+".audit")
}

// startAudit verifies the audit log, and signs it from then on. Damage is an error that
// names the first bad entry, unless the operator accepts the loss.
func (p *parts) startAudit(ctx context.Context, running *lifecycle) error {
	c, log := &p.options.Config, p.log("audit")
	keeper, err := audit.OpenKeeper(audit.Options{
		Log: p.store.Events, Dir: c.AuditDir(), Every: c.Audit.Checkpoint, Retention: c.Audit.Retention, Shared: c.NATS.URL != "", Logger: log,
	})
	if err != nil {
		return fmt.Errorf("%w; audit.dir names the folder, which must not be in nats.dir and which heldcall must be able to write", err)
	}
	err = keeper.Verify(ctx)
	if broken := (*audit.BrokenError)(nil); errors.As(err, &broken) {
		if !p.options.AcceptLoss {
			return fmt.Errorf("%w; restore nats.dir (or the streams of nats.url) and %s from the same backup, or start once with --accept-loss, which records the loss in the audit log", broken, c.AuditDir())
		}
		log.Warn("the audit log is damaged, and the loss is accepted", "error", broken)
		err = keeper.AcceptLoss(ctx, broken)
	}
	if err != nil {
		return err
	}
	running.started("audit", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, lastCheckpointWithin)
		defer cancel()
		if err := keeper.Checkpoint(ctx); err != nil {
			log.Error("failed to write the last checkpoint of the audit log", "error", err)
		}
		return nil
	})
	running.background("audit", keeper.Run)
	return p.recordReviewers(ctx)
}

// recordReviewers records the configured reviewers if they differ from the last recorded
// ones.
func (p *parts) recordReviewers(ctx context.Context) error {
	c := &p.options.Config.Console
	now := approvals.Event{Type: approvals.EventReviewersChanged}
	for _, r := range c.Reviewers {
		now.Reviewers = append(now.Reviewers, approvals.ReviewerRights{
			Name: r.Name, Role: r.Role, Groups: r.Groups, User: r.User, Slack: r.Slack, HasToken: r.TokenSHA256 != "",
		})
	}
	if c.asks() {
		now.Note = fmt.Sprintf("console.self_approval: %t", c.SelfApproval)
	}
	if o := &c.OIDC; o.On() {
		now.Note += fmt.Sprintf("; console.oidc: issuer %s, role %s, required_groups %q, email_domains %q, memberships %+v",
			o.Issuer, o.Role, o.RequiredGroups, o.EmailDomains, o.Memberships)
	}
	var last approvals.Event
	for entry, err := range p.store.Events.OfType(ctx, approvals.EventReviewersChanged, 1) {
		if err != nil {
			return err
		}
		last = entry.Event
	}
	if last.Note == now.Note && slices.EqualFunc(last.Reviewers, now.Reviewers, sameRights) {
		return nil
	}
	return p.recordChange(ctx, now)
}

func sameRights(a, b approvals.ReviewerRights) bool {
	groups := slices.Equal(a.Groups, b.Groups)
	return groups && a.Name == b.Name && a.Role == b.Role && a.User == b.User && a.Slack == b.Slack && a.HasToken == b.HasToken
}

// recordedPolicies returns the policy files as they were last recorded.
func (p *parts) recordedPolicies(ctx context.Context) (map[string]string, error) {
	recorded := map[string]string{}
	for entry, err := range p.store.Events.OfType(ctx, approvals.EventPolicyChanged, 1) {
		if err != nil {
			return nil, err
		}
		if v := entry.Event.Policy; v != nil {
			recorded[v.File] = v.SHA256
		}
	}
	return recorded, nil
}

// recordPolicies records the policy files in force that differ from recorded, and updates it.
func (p *parts) recordPolicies(ctx context.Context, sources []*judge.Source, recorded map[string]string) error {
	inForce := map[string]string{}
	for _, s := range sources {
		inForce[s.Name()] = s.SHA256()
	}
	for file := range recorded {
		inForce[file] += "" // one that is no longer used has no content
	}
	for _, file := range slices.Sorted(maps.Keys(inForce)) {
		sum := inForce[file]
		if recorded[file] == sum {
			continue
		}
		if err := p.recordChange(ctx, approvals.Event{Type: approvals.EventPolicyChanged, Policy: &approvals.PolicyVersion{File: file, SHA256: sum}}); err != nil {
			return err
		}
		recorded[file] = sum
	}
	return nil
}

// recordChange writes an event about the configuration.
func (p *parts) recordChange(ctx context.Context, e approvals.Event) error {
	e.Time = time.Now().UTC()
	e.ID = p.ids.Next(e.Time)
	if err := p.store.Events.AppendEvents(ctx, e); err != nil {
		return fmt.Errorf("record %s: %w", e.Type, err)
	}
	return nil
}
