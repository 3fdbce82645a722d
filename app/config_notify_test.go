package app

import (
	"strings"
	"testing"
)

func TestNotifyConfiguration(t *testing.T) {
	const good = "notify:\n  slack:\n    - {bot_token: xoxb-1, app_token: xapp-1, channel: C1}\n"
	for _, text := range []string{
		good,
		good + "  routes:\n    - {to: [slack], tools: [\"deploy*\"], risk: high, hours: mon-fri 08:00-18:00 Europe/Berlin}\n    - {to: [\"slack:C2\"], quiet: {hours: 22:00-07:00, except_above: medium}, digest: 15m}\n",
	} {
		if _, _, err := load(t, text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	for text, want := range map[string]string{
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
		"console:\n  reviewers:\n    - {name: a, token_sha256: " + strings.Repeat("a", 64) + ", slack: \"@ann\"}\n": "id of a Slack user",
	} {
		if _, _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nthe problem is %v, want %q", text, err, want)
		}
	}
}
