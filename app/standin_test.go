package app

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Finding 7 (control side): the model's key was in the environment of the command. A
// stand-in is the same each time, and the key of the same clients.
func TestStandIns(t *testing.T) {
	const openAI, anthropic = "sk-proj-1", "sk-ant-2"
	config := func() *Config {
		c := DefaultConfig(environment("OPENAI_API_KEY", openAI, "ANTHROPIC_API_KEY", anthropic))
		c.Proxy.Clients = []Client{{Key: "another", User: "bob"}, {KeySHA256: (Client{Key: openAI}).digest(), User: "ann", Policy: "p"}}
		return &c
	}
	c := config()
	standIns, again := c.StandIns(), config().StandIns()
	if len(standIns) != 2 || standIns[openAI] != again[openAI] || !strings.HasPrefix(standIns[openAI], "sk-heldcall-") || !strings.HasPrefix(standIns[anthropic], "sk-ant-heldcall-") {
		t.Errorf("stand-ins %q, then %q", standIns, again)
	}
	for _, u := range c.Proxy.Upstreams {
		if u.StandIn != standIns[string(u.APIKey)] {
			t.Errorf("%s takes %q for its key", u.Prefix, u.StandIn)
		}
	}
	want := Client{Key: Secret(standIns[openAI]), User: "ann", Policy: "p"}
	if got := c.Proxy.Clients; len(got) != 3 || !reflect.DeepEqual(got[2], want) {
		t.Errorf("clients %+v", got)
	}
	none := DefaultConfig(environment())
	if got := none.StandIns(); len(got) != 0 {
		t.Errorf("without keys: %q", got)
	}
}

// Keys that heldcall alone uses are found wherever they are, keys of models and agents
// are not among them.
func TestOwnSecrets(t *testing.T) {
	c := DefaultConfig(environment("OPENAI_API_KEY", "sk-1"))
	c.Proxy.Clients = []Client{{Key: "agent"}}
	c.Console.OIDC.ClientSecret = "oidc"
	c.Notify.Slack = []SlackConfig{{BotToken: "xoxb", SigningSecret: "sign"}}
	c.Notify.Webhooks = []WebhookConfig{{Secrets: []Secret{"whsec"}}}
	c.Tracing.Headers = []Header{{Value: "trace"}}
	c.Proxy.Upstreams[0].Proxy = "http://bob:w%3Ard@proxy.example:3128"
	c.NATS.URL = "nats://ann:p%40ss@a:4222, nats://token@b:4222,nats://c:4222"
	if got, want := c.OwnSecrets(), []string{"oidc", "xoxb", "sign", "whsec", "trace", "p@ss", "ann:p%40ss", "token", "token", "w:rd", "bob:w%3Ard"}; !slices.Equal(got, want) {
		t.Errorf("secrets %q, want %q", got, want)
	}
}
