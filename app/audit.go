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
	if err == nil {
		err = p.compareState(ctx, keeper)
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

// recordedState returns the state that is compared with the audit log.
func (p *parts) recordedState() audit.State {
	return audit.State{Gate: p.store.gate, Grants: p.store.grants, Retention: p.store.retained}
}

// compareState compares the state with the audit log. A difference is an error, unless the operator
// accepts the loss. Other replicas may be writing, and servers of a cluster may be late: so a
// difference is looked at twice.
func (p *parts) compareState(ctx context.Context, keeper *audit.Keeper) error {
	compare := func(ctx context.Context) error { return keeper.CompareState(ctx, p.recordedState()) }
	err := p.untilAnswered(ctx, compare)
	var differs *audit.StateError
	if errors.As(err, &differs) && p.options.Config.NATS.URL != "" {
		select {
		case <-time.After(comparedAgainAfter):
		case <-ctx.Done():
			return err
		}
		err = p.untilAnswered(ctx, compare)
	}
	if !errors.As(err, &differs) {
		return err
	}
	if !p.options.AcceptLoss {
		return fmt.Errorf("%w; restore all of nats.dir (or all streams of nats.url) and %s from the same backup, or start once with --accept-loss, which continues with the state as it is and records that in the audit log", err, p.options.Config.AuditDir())
	}
	p.log("audit").Warn("the state is not as the audit log says, and the loss is accepted", "error", err)
	return p.recordLoss(ctx, err.Error())
}

// differences compares the state with the audit log while heldcall runs. A difference is looked at twice.
func (p *parts) differences(ctx context.Context) ([]audit.Difference, error) {
	found, err := audit.Differences(ctx, p.store.events, p.recordedState())
	if err != nil || len(found) == 0 {
		return nil, err
	}
	select {
	case <-time.After(comparedAgainAfter):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return audit.Differences(ctx, p.store.events, p.recordedState())
}

// comparedAgainAfter is the time after which a state that differs from the log is compared again.
const comparedAgainAfter = 2 * time.Second

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
		all = append(all, approvals.ReviewerRights{Name: r.Name, Role: r.Role, Groups: r.Groups, Tenants: r.Tenants, User: r.User, Slack: r.Slack, HasToken: r.TokenSHA256 != ""})
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
