package shoutrrr

import (
	"strings"
	"testing"
)

func TestURLs(t *testing.T) {
	for _, text := range []string{
		discordURL, telegramURL, ntfyURL, teamsURL, "generic+https://chat.example/" + token, "generic://chat.example/?template=json",
		"smtp://ann:" + token + "@mail.example:587/?from=a@b.example&to=c@d.example&usehtml=no", "matrix://ann:" + token + "@matrix.example/",
		"gotify://gotify.example/AzyoeNS.D4iJLVa", "pushover://shoutrrr:" + token + "@user/",
	} {
		if err := CheckURL(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"":                           "is not a URL",
		token:                        "is not a URL",
		"110201543:" + token:         "is not a URL",
		"https://" + token + "/hook": "is not a URL",
		token + "://host":            "is not a URL",
		"logger://" + token:          "has no readers",
		"discord://" + token:         "service discord",
		discordURL + "?json=yes":     "usehtml or json",
		"telegram://" + token + "@telegram?chats=@people":                           "service telegram",
		"telegram://110201543:" + token + "@telegram":                               "service telegram",
		"teams://" + token + "@host/a/b/c":                                          "service teams",
		"teams+https://" + token:                                                    "is not a URL",
		"ntfy://ntfy.sh/?priority=" + token:                                         "service ntfy",
		"matrix://" + token + "@matrix.example":                                     "service matrix",
		"smtp://ann:" + token + "@mail.example/?from=a@b.example":                   "service smtp",
		"smtp://ann:" + token + "@h/?from=a@b.example&to=c@d.example&UseHTML=yes":   "usehtml or json",
		"smtp://ann:" + token + "@h/?from=a@b.example&to=c@d.example&auth=" + token: "service smtp",
		"slack://" + token + "@":                                                    "service slack",
		"ntfy://ntfy.sh/calls?" + token + "=" + token:                               "service ntfy",
		"generic+https://chat.example/%zz" + token:                                  "is not a URL",
		"ntfy://[::1/" + token:                                                      "is not a URL",
		"pushover://:" + token + "@/":                                               "service pushover",
	} {
		switch err := CheckURL(text); {
		case err == nil:
			t.Errorf("%s: is taken", text)
		case !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v", text, err)
		case strings.Contains(err.Error(), token):
			t.Errorf("%s: the error contains the token: %v", text, err)
		}
	}
}
