package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/heldcall/heldcall/approvals/secrets"
)

// SecretsConfig is where the key is that encrypts secrets.
type SecretsConfig struct {
	KeyFile string `yaml:"key_file"` // made at the first use; empty: secrets.key in audit.dir
}

// startSecrets loads the secrets before the first request of an agent: they have to be
// masked in it.
func (p *parts) startSecrets(ctx context.Context, running *lifecycle) (err error) {
	c := &p.options.Config
	p.secrets, err = secrets.New(secrets.Options{
		Store: p.store.secrets, KeyFile: cmp.Or(c.Secrets.KeyFile, filepath.Join(c.AuditDir(), "secrets.key")), Log: p.log("secrets"),
	})
	if err != nil {
		return err
	}
	p.judge.UseSecrets(p.secrets)
	running.background("secrets", p.secrets.Run)
	if err := running.awaitReady(ctx, p.secrets.Ready()); err != nil {
		return err
	}
	if err := p.secrets.Check(ctx); err != nil {
		return fmt.Errorf("the stored secrets cannot be read: %w", err)
	}
	return nil
}
