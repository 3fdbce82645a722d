package slack

import (
	"context"
	"sync"

	slackapi "github.com/slack-go/slack"
)

type home struct {
	mu    sync.Mutex
	known *slackapi.AuthTestResponse
}

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

// atHome refuses clicks from another workspace than the token's, such as from an app
// that is installed in several or a channel that two share: the configuration has user
// ids of this workspace. A token of an organization accepts all of its workspaces.
func (c *clicks) atHome(ctx context.Context, click *slackapi.InteractionCallback) error {
	own, err := c.home.of(ctx, c.api)
	if err != nil {
		return apiError("auth.test", err)
	}
	inOrganization := click.IsEnterpriseInstall && click.Enterprise.ID != "" && click.Enterprise.ID == own.EnterpriseID
	inWorkspace := click.Team.ID != "" && click.Team.ID == own.TeamID && (click.User.TeamID == "" || click.User.TeamID == own.TeamID)
	if !inOrganization && !inWorkspace {
		c.log.Warn("a click from another Slack workspace was refused", "team", click.Team.ID, "user_team", click.User.TeamID, "user", click.User.ID)
		return refuse("This click came from another Slack workspace, so nothing was done.")
	}
	return nil
}
