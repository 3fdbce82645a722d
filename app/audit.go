package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
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
		Log: p.store.events, Dir: c.AuditDir(), Every: c.Audit.Checkpoint, Retention: c.Audit.Retention, Shared: c.NATS.URL != "", Logger: log,
	})
	if err != nil {
		return fmt.Errorf("%w; audit.dir names the folder, which must not be in nats.dir and which heldcall must be able to write", err)
	}
	err = p.untilAnswered(ctx, keeper.Verify)
	if errors.As(err, new(*audit.BrokenError)) || errors.Is(err, audit.ErrCheckpoint) {
		if !p.options.AcceptLoss {
			return fmt.Errorf("%w; restore nats.dir (or the streams of nats.url) and %s from the same backup, or start once with --accept-loss, which records the loss in the audit log", err, c.AuditDir())
		}
		log.Warn("the audit log is damaged, and the loss is accepted", "error", err)
		err = keeper.AcceptLoss(ctx, err)
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
	changes := audit.NewChanges(p.store.events)
	all, settings := c.Console.reviewerRights()
	return p.untilAnswered(ctx, func(ctx context.Context) error { return changes.Reviewers(ctx, all, settings) })
}

// answersWithin bounds the time for which the servers of a cluster that has just started
// may not answer.
const answersWithin = time.Minute

// untilAnswered reads the audit log at the start. It tries again while an external server
// does not answer: the streams of a new cluster elect their leaders.
func (p *parts) untilAnswered(ctx context.Context, read func(context.Context) error) error {
	external := p.options.Config.NATS.URL != ""
	for deadline := time.Now().Add(answersWithin); ; {
		err := read(ctx)
		if !external || !errors.Is(err, approvals.ErrStoreUnavailable) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return err
		}
	}
}

// reviewerRights returns the configured reviewers without tokens, and the settings that give
// rights to others.
func (c *ConsoleConfig) reviewerRights() (all []approvals.ReviewerRights, settings string) {
	for _, r := range c.Reviewers {
		all = append(all, approvals.ReviewerRights{Name: r.Name, Role: r.Role, Groups: r.Groups, User: r.User, Slack: r.Slack, HasToken: r.TokenSHA256 != ""})
	}
	if c.asks() {
		settings = fmt.Sprintf("console.self_approval: %t", c.SelfApproval)
	}
	if o := &c.OIDC; o.On() {
		settings += fmt.Sprintf("; console.oidc: issuer %s, role %s, required_groups %q, email_domains %q, memberships %+v",
			o.Issuer, o.Role, o.RequiredGroups, o.EmailDomains, o.Memberships)
	}
	return all, settings
}
