package main

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type tokenCommand struct {
	Create tokenCreateCommand `cmd:"" help:"Create a reviewer token and its configuration entry."`
}

type tokenCreateCommand struct {
	outputFlag
	Name  string   `arg:"" help:"The reviewer's name, as decisions record it."`
	Role  string   `enum:"viewer,reviewer,admin" default:"reviewer" placeholder:"ROLE" help:"viewer: read; reviewer: also decide; admin: also control runs and grants. Default: reviewer."`
	Group []string `placeholder:"GROUP" help:"Group that rules name; repeatable."`
	User  string   `placeholder:"USER" help:"The same person as the user of agents, where that is not NAME."`
}

// createdToken is a token and the reviewer whose it is.
type createdToken struct {
	Token       string   `json:"token" yaml:"-"`
	Name        string   `json:"name" yaml:"name"`
	TokenSHA256 string   `json:"token_sha256" yaml:"token_sha256"`
	Role        string   `json:"role" yaml:"role"`
	Groups      []string `json:"groups" yaml:"groups,flow,omitempty"`
	User        string   `json:"user,omitempty" yaml:"user,omitempty"`
}

// Run prints a new token, once, and its hash as a part of the configuration.
func (c *tokenCreateCommand) Run(s *streams) error {
	token, hash := reviewers.NewToken()
	created := createdToken{Token: token, Name: c.Name, TokenSHA256: hash, Role: c.Role, Groups: c.Group, User: c.User}
	err := app.CheckReviewer(app.Reviewer{Name: c.Name, TokenSHA256: hash, Role: c.Role, Groups: c.Group, User: c.User})
	if err != nil {
		return &usageError{err}
	}
	if c.json() {
		return textview.JSON(s.out, created)
	}
	snippet := map[string]any{"console": map[string]any{"reviewers": []createdToken{created}}}
	if _, err := fmt.Fprintf(s.out, `Token of %s, shown this once; it goes into HELDCALL_TOKEN, or into the sign-in of the console:

  %s

For the configuration, which holds its hash only; where that has console.reviewers already, add the entry to them:

`, sanitize.Line(c.Name), token); err != nil {
		return err
	}
	encoder := yaml.NewEncoder(s.out)
	encoder.SetIndent(2)
	return encoder.Encode(snippet)
}
