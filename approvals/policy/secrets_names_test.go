package policy

import (
	"fmt"
	"testing"
)

// TestNamesOfSecrets: files whose names say that they hold keys, tokens, settings of a deployment or a wallet, and logs of
// the system in which secrets are, are asked about although a rule allows to read everything; files beside them are not.
func TestNamesOfSecrets(t *testing.T) {
	p, err := Parse("policy.yaml", []byte("profiles: [claude-code]\ndefault: ask\nrules:\n  - allow: ['Read(**)', 'Read(/**)', 'Bash(cat:*)']\n"))
	if err != nil {
		t.Fatal(err)
	}
	for want, names := range map[Action][]string{
		Ask: {
			"token.json", "config/tokens.json", "sa-key.json", "gcp-sa-key-prod.json", "prod-key.json", "deploy_key", "keys/deploy-key.old", "vault.yml", "group_vars/all/vault.yaml", "wp-config.php",
			"appsettings.Production.json", "local.settings.json", "src/main/resources/application-prod.yml", "mnemonic.txt", "seed_phrase.txt", "wallet.dat", "api_key.txt", "private_key.bin", "access_token",
			"app-firebase-adminsdk-x1.json", "/var/log/auth.log", "/var/log/cloud-init-output.log", "prod.tfvars.json", "recovery-codes.txt",
		},
		Allow: {"src/token.go", "tokenizer.json", "appsettings.json", "vault.go", "docs/vault.md", "src/api_key.go", "wallet.go", "seed.sql", "mnemonics.go", "application.yml", "keys.md", "package.json"},
	} {
		for _, name := range names {
			for _, c := range []Call{
				{Tool: "Read", Arguments: fmt.Sprintf(`{"file_path":%q}`, name)},
				{Tool: "Bash", Arguments: fmt.Sprintf(`{"command":%q}`, "cat "+name)},
			} {
				if v := p.Judge(c); v.Action != want {
					t.Errorf("%s %s: %s, want %s (%s)", c.Tool, name, v.Action, want, v.Reason)
				}
			}
		}
	}
}
