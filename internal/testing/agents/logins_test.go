//go:build agents

package agents_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// logins are agents with a login of their own in place of a key, which is made up. heldcall has a key too.
func logins(t *testing.T) []agent {
	fleet := fleet(t)
	named := func(name string) agent {
		return fleet[slices.IndexFunc(fleet, func(a agent) bool { return a.name == name })]
	}
	codex, claude := named("codex"), named("claude-code")
	part := base64.RawURLEncoding.EncodeToString
	token := part([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + part(fmt.Appendf(nil, codexClaims, time.Now().Add(240*time.Hour).Unix())) + "." + part([]byte("made up"))
	codex.name, codex.environment, codex.login = "codex-login", nil, "Bearer "+token
	codex.compresses = true
	codex.elsewhere = []string{"chatgpt.com"} // for the account and its settings
	codex.files = alsoWith(codex.files, ".codex/auth.json", fmt.Sprintf(codexLogin, token, token, time.Now().UTC().Format(time.RFC3339)))
	const claudeToken = "sk-ant-oat01-made-up"
	claude.name, claude.login = "claude-code-login", "Bearer "+claudeToken
	claude.environment = slices.DeleteFunc(slices.Clone(claude.environment), func(entry string) bool { return entry == "ANTHROPIC_API_KEY=sk-ant-test" })
	claude.elsewhere = []string{"api.anthropic.com"}
	claude.files = alsoWith(claude.files, ".claude/.credentials.json", fmt.Sprintf(claudeLogin, claudeToken, time.Now().Add(240*time.Hour).UnixMilli()))
	return []agent{codex, claude}
}

const (
	codexClaims = `{"email":"ann@example.com","exp":%d,"https://api.openai.com/auth":{"chatgpt_account_id":"made-up","chatgpt_plan_type":"pro"}}`
	codexLogin  = `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":%q,"access_token":%q,"refresh_token":"made-up","account_id":"made-up"},"last_refresh":%q}`
	claudeLogin = `{"claudeAiOauth":{"accessToken":%q,"refreshToken":"sk-ant-ort01-made-up","expiresAt":%d,"scopes":["user:inference","user:profile"],"subscriptionType":"max"}}`
)

// alsoWith returns the files of an agent with another one.
func alsoWith(files func(endpoint) map[string]string, name, content string) func(endpoint) map[string]string {
	return func(at endpoint) map[string]string {
		all := map[string]string{name: content}
		if files != nil {
			maps.Copy(all, files(at))
		}
		return all
	}
}
