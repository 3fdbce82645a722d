package app

import (
	"fmt"
	"strings"
	"testing"
)

func TestNotifyConfiguration(t *testing.T) {
	const good = "notify:\n  slack:\n    - {bot_token: xoxb-1, app_token: xapp-1, channel: C1}\n"
	for _, text := range []string{
		good,
		"notify:\n  shoutrrr:\n    - {name: phone, url: ntfy://ntfy.sh/calls}\n    - {url: \"discord://token@123\"}\n  routes:\n    - {to: [phone, shoutrrr]}\n",
		good + "  routes:\n    - {to: [slack], tools: [\"deploy*\"], risk: high, hours: mon-fri 08:00-18:00 Europe/Berlin}\n    - {to: [\"slack:C2\"], quiet: {hours: 22:00-07:00, except_above: medium}, digest: 15m}\n",
	} {
		if _, _, err := load(t, text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	const hook = "notify:\n  webhooks:\n    - {secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw], reviewer: local, url: \"%s\"}\n"
	const oidc = "console:\n  url: https://heldcall.example\n  oidc: {issuer: https://idp.example, client_id: heldcall, role: reviewer, email_domains: [corp.example]}\n"
	for _, address := range []string{"https://ci.example/hook", "http://127.0.0.1:9000/hook", "http://localhost/hook"} {
		if _, _, err := load(t, fmt.Sprintf(hook, address)); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for text, want := range map[string]string{
		fmt.Sprintf(hook, "http://ci.example/hook"):                                                                 "could be read on its way",
		oidc + fmt.Sprintf(hook, "https://ci.example/hook"):                                                         "is not one of console.reviewers",
		"notify:\n  slack:\n    - {bot_token: xapp-1, channel: C1}\n":                                               "bot_token",
		"notify:\n  slack:\n    - {bot_token: xoxb-1, app_token: xoxb-1, channel: C1}\n":                            "app_token",
		"notify:\n  slack:\n    - {bot_token: xoxb-1}\n":                                                            "channel: is missing",
		"notify:\n  slack:\n    - {bot_token: xoxb-1, channel: C1, app_token: xapp-1, signing_secret: s}\n":         "at most one",
		"notify:\n  slack:\n    - {bot_token: xoxb-1, channel: C1, name: \"a b\"}\n":                                "not a name",
		"notify:\n  slack:\n    - {bot_token: xoxb-1, channel: C1}\n    - {bot_token: xoxb-1, channel: C1}\n":       "also the name",
		good + "  routes:\n    - {to: [teams]}\n":                                                                   "not the name of a channel",
		good + "  routes:\n    - {to: [\"slack:\"]}\n":                                                              "names no place",
		good + "  routes:\n    - {risk: high}\n":                                                                    "to: is empty",
		good + "  routes:\n    - {to: [slack], risk: huge}\n":                                                       "not known",
		good + "  routes:\n    - {to: [slack], tools: [\"[\"]}\n":                                                   "not a pattern",
		good + "  routes:\n    - {to: [slack], hours: noon}\n":                                                      "not a time of day",
		good + "  routes:\n    - {to: [slack], hours: 25:00-26:00}\n":                                               "not a time of day",
		good + "  routes:\n    - {to: [slack], hours: 08:00-18:00 Mars/Olympus}\n":                                  "not a time zone",
		good + "  routes:\n    - {to: [slack], hours: day-fri 08:00-18:00}\n":                                       "not a day",
		good + "  routes:\n    - {to: [slack], digest: 5s}\n":                                                       "not a part of a day",
		good + "  routes:\n    - {to: [slack], digest: 7h}\n":                                                       "not a part of a day",
		good + "  routes:\n    - {to: [slack], quiet: {except_above: low}}\n":                                       "is for quiet.hours",
		"notify:\n  shoutrrr:\n    - {url: \"discord://s3cr3t-t0ken\"}\n":                                           "notify.shoutrrr[0].url: is not a complete URL of the service discord",
		"notify:\n  shoutrrr:\n    - {url: \"https://discord.example/s3cr3t-t0ken\"}\n":                             "notify.shoutrrr[0].url: is not a URL of shoutrrr",
		"notify:\n  shoutrrr:\n    - {name: a}\n":                                                                   "url: is not a URL",
		"notify:\n  shoutrrr:\n    - {url: ntfy://h/t, group: {within: 1ms}}\n":                                     "less than a second",
		"notify:\n  shoutrrr:\n    - {url: ntfy://h/t}\n  routes:\n    - {to: [\"shoutrrr:place\"]}\n":              "names no place",
		"console:\n  reviewers:\n    - {name: a, token_sha256: " + strings.Repeat("a", 64) + ", slack: \"@ann\"}\n": "id of a Slack user",
	} {
		if _, _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s\nthe problem is %v, want %q", text, err, want)
		}
	}
}
