package slack

import (
	"context"
	"sync"

	slackapi "github.com/slack-go/slack"
)

// home is the workspace that the bot's token is of. It is asked for at the first click
// and kept once Slack has said.
type home struct {
	mu    sync.Mutex
	known *slackapi.AuthTestResponse
}

// of is that workspace.
func (h *home) of(ctx context.Context, slack api) (*slackapi.AuthTestResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known != nil {
		return h.known, nil
	}
	known, err := slack.AuthTestContext(ctx)
	if err == nil {
		h.known = known
	}
	return known, err
}

// atHome refuses what comes from another workspace than the token's, as by an app that
// is installed in several or in a channel that two share: the ids of users in the
// configuration are those of this one. A token of a whole organization takes what comes
// of any of its workspaces.
func (c *clicks) atHome(ctx context.Context, click *slackapi.InteractionCallback) error {
	own, err := c.home.of(ctx, c.api)
	if err != nil {
		return apiError("auth.test", err)
	}
	inOrganization := click.IsEnterpriseInstall && click.Enterprise.ID != "" && click.Enterprise.ID == own.EnterpriseID
	inWorkspace := click.Team.ID != "" && click.Team.ID == own.TeamID && (click.User.TeamID == "" || click.User.TeamID == own.TeamID)
	if !inOrganization && !inWorkspace {
		c.log.Warn("a click from another Slack workspace was refused", "team", click.Team.ID, "user_team", click.User.TeamID, "user", click.User.ID)
		return refuse("This came from another Slack workspace than heldcall's, so nothing was done.")
	}
	return nil
}
