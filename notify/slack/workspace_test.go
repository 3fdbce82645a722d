package slack

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	slackapi "github.com/slack-go/slack"
)

// workspaceAPI is the part of Slack that returns the workspace of the token.
type workspaceAPI struct {
	api
	own   slackapi.AuthTestResponse
	err   error
	asked int
}

func (w *workspaceAPI) AuthTestContext(context.Context) (*slackapi.AuthTestResponse, error) {
	w.asked++
	return &w.own, w.err
}

// What comes of the token's workspace counts, or of its organization where the app is
// installed there, and of no other.
func TestClicksOfWorkspaces(t *testing.T) {
	workspace := slackapi.AuthTestResponse{TeamID: "T1"}
	organization := slackapi.AuthTestResponse{TeamID: "T1", EnterpriseID: "E1"}
	for name, tt := range map[string]struct {
		own                    slackapi.AuthTestResponse
		team, user, enterprise string
		installed, taken       bool
	}{
		"its own":                             {workspace, "T1", "T1", "", false, true},
		"its own, of a user of none":          {workspace, "T1", "", "", false, true},
		"a guest from elsewhere":              {workspace, "T1", "T2", "", false, false},
		"another":                             {workspace, "T2", "T2", "", false, false},
		"another, of its own user":            {workspace, "T2", "T1", "", false, false},
		"another, of a user of none":          {workspace, "T2", "", "", false, false},
		"none":                                {workspace, "", "", "", false, false},
		"none, by a token of none":            {slackapi.AuthTestResponse{}, "", "", "", false, false},
		"an installation of no organization":  {workspace, "T2", "T2", "", true, false},
		"its organization":                    {organization, "T2", "T2", "E1", true, true},
		"its organization, of no workspace":   {organization, "", "", "E1", true, true},
		"its organization, not installed":     {organization, "T2", "T2", "E1", false, false},
		"another organization":                {organization, "T2", "T2", "E2", true, false},
		"another organization's installation": {workspace, "T2", "T2", "E2", true, false},
	} {
		c := &clicks{api: &workspaceAPI{own: tt.own}, log: slog.New(slog.DiscardHandler)}
		click := &slackapi.InteractionCallback{IsEnterpriseInstall: tt.installed}
		click.Team.ID, click.User.TeamID, click.Enterprise.ID = tt.team, tt.user, tt.enterprise
		err := c.atHome(t.Context(), click)
		if refused := (*refusal)(nil); (err == nil) != tt.taken || (err != nil && !errors.As(err, &refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The workspace is read until that succeeds, and then no more.
func TestWorkspaceIsAskedForOnce(t *testing.T) {
	slack := &workspaceAPI{own: slackapi.AuthTestResponse{TeamID: "T1"}, err: slackapi.SlackErrorResponse{Err: "internal_error"}}
	c := &clicks{api: slack, log: slog.New(slog.DiscardHandler)}
	click := &slackapi.InteractionCallback{}
	click.Team.ID = "T1"
	for i, want := range []int{1, 2, 2} {
		err := c.atHome(t.Context(), click)
		if slack.asked != want || (err == nil) != (i > 0) {
			t.Errorf("click %d: asked %d times, %v", i, slack.asked, err)
		}
		slack.err = nil
	}
}
