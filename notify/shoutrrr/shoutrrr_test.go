package shoutrrr

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
)

func TestChannelDoesWhatEveryChannelDoes(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) notifytest.Service { return openTelegram(t) })
}

// Each service gets its own form of message, at its own address.
func TestServices(t *testing.T) {
	const text = "heldcall holds a call of "
	for _, one := range []struct {
		name, url, path string
		read            func(s *service) (text, title string)
	}{
		{"discord", discordURL, "discord.com/api/webhooks/123456789/" + token, func(s *service) (string, string) {
			embed := fields(t, s.only())["embeds"].([]any)[0].(map[string]any)
			return embed["description"].(string), embed["title"].(string)
		}},
		{"telegram", telegramURL, "api.telegram.org/bot110201543:" + token + "/sendMessage", func(s *service) (string, string) {
			m := fields(t, s.only())
			if m["parse_mode"] != "HTML" || m["chat_id"] != "@people" || m["disable_web_page_preview"] != true {
				t.Errorf("telegram: %v", m)
			}
			title, text, _ := strings.Cut(m["text"].(string), "\n")
			return text, strings.TrimSuffix(strings.TrimPrefix(title, "<b>"), "</b>")
		}},
		{"ntfy", ntfyURL, "ntfy.sh/calls", func(s *service) (string, string) {
			return s.only(), s.heads[0].Get("Title")
		}},
		{"teams", teamsURL, "acme.webhook.office.com/webhookb2/11111111-4444-4444-8444-cccccccccccc@22222222-4444-4444-8444-cccccccccccc/IncomingWebhook/33333333012222222222333333333344/44444444-4444-4444-8444-cccccccccccc/" + token, func(s *service) (string, string) {
			var lines []string
			for _, section := range fields(t, s.only())["sections"].([]any) {
				lines = append(lines, section.(map[string]any)["text"].(string))
			}
			return strings.Join(lines, "\n"), ""
		}},
		{"mattermost", "mattermost://chat.example/" + token, "chat.example/hooks/" + token, func(s *service) (string, string) {
			return fields(t, s.only())["text"].(string), ""
		}},
		{"generic", "generic://chat.example/" + token + "?template=json", "chat.example/" + token, func(s *service) (string, string) {
			return fields(t, s.only())["message"].(string), ""
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			s := open(t, one.url, &service{success: `{"ok":true,"result":{}}`})
			if _, err := s.channel.Post(t.Context(), notifytest.Delivery(notifytest.Request(1))); err != nil {
				t.Fatal(err)
			}
			got, title := one.read(s)
			if s.paths[0] != one.path {
				t.Errorf("it was sent to %s", s.paths[0])
			}
			if s.channel.composer.format.title && title != "heldcall: a call needs approval" {
				t.Errorf("the title is %q", title)
			}
			for _, want := range []string{text, "bash", "high risk", "ann", "coder", "policy.yaml:3", "opensesame", "2026-11-21 10:05:00 UTC", inbox + "/#/requests/01KAKZ"} {
				if !strings.Contains(got, want) {
					t.Errorf("it does not contain %q:\n%s", want, got)
				}
			}
		})
	}
}

// Errors that an operator can correct are tried again, and contain no secret.
func TestVerdictsOfStatus(t *testing.T) {
	s := openTelegram(t)
	s.Answers(notifytest.Fails)
	for status, want := range map[int]string{401: "answered 401", 403: "answered 403", 404: "answered 404", 302: "answered 302", 307: "answered 307", 500: "answered 500"} {
		s.status = status
		before := len(s.Wire())
		_, err := s.channel.Post(t.Context(), notifytest.Delivery(notifytest.Request(1)))
		if err == nil || errors.As(err, new(*notify.PermanentError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", status, err)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("the error contains the token: %v", err)
		}
		if n := len(s.Wire()) - before; n != 1 {
			t.Errorf("%d: it was sent %d times by one courier", status, n)
		}
	}
}

// The library takes a Telegram that cannot be reached for one that has taken the
// message, and sleeps where Discord fails.
func TestNothingIsTakenForSent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	for name, address := range map[string]string{"telegram": telegramURL, "discord": discordURL, "ntfy": ntfyURL, "teams": teamsURL} {
		s := open(t, address, &service{})
		t.Setenv("HTTPS_PROXY", "http://"+listener.Addr().String()) // nobody
		_, err := s.channel.Post(t.Context(), notifytest.Delivery(notifytest.Request(1)))
		if err == nil || errors.As(err, new(*notify.PermanentError)) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.Wire()) > 0 {
			t.Errorf("%s was reached", name)
		}
	}
}

func TestDiscordIsSentOnce(t *testing.T) {
	s := open(t, discordURL, &service{})
	for _, answer := range []notifytest.Answer{notifytest.Fails, notifytest.Limits} {
		s.Answers(answer)
		before := len(s.Wire())
		_, err := s.channel.Post(t.Context(), notifytest.Delivery(notifytest.Request(1)))
		after := (*notify.RetryAfterError)(nil)
		if err == nil || errors.As(err, &after) != (answer == notifytest.Limits) || len(s.Wire()) != before+1 {
			t.Errorf("answer %d: %v, sent %d times", answer, err, len(s.Wire())-before)
		}
	}
}

// A service that does not answer is given up, and its courier is ended.
func TestHungService(t *testing.T) {
	m := openMailbox(t, true)
	s := (&service{t: t}).at("smtp://ann:" + token + "@" + m.address + "/?from=heldcall@example.com&to=people@example.com")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := s.channel.Post(ctx, notifytest.Delivery(notifytest.Request(1)))
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*notify.PermanentError)) {
		t.Errorf("it ends with %v", err)
	}
}

func TestCourierThatCannotBeStarted(t *testing.T) {
	for _, courier := range [][]string{{"/nonexistent/heldcall"}, {"false"}, {"true"}} {
		c, err := New(Options{URL: discordURL, Inbox: func() string { return inbox }, Child: courier})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Post(t.Context(), notifytest.Delivery(notifytest.Request(1)))
		if err == nil || errors.As(err, new(*notify.PermanentError)) || strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v", courier, err)
		}
	}
}

func TestMail(t *testing.T) {
	m := openMailbox(t, false)
	s := (&service{t: t}).at("smtp://ann:" + token + "@" + m.address + "/?from=heldcall@example.com&to=people@example.com")
	r := notifytest.Request(1)
	r.ToolName = "bash\r\nBcc: everybody@example.com\r\n\r\n"
	r.Context.AssistantText = "ok"
	if _, err := s.channel.Post(t.Context(), notifytest.Delivery(r)); err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(m.letters[0], "\r\n\r\n")
	head += "\r\n"
	if !strings.Contains(head, "Subject: heldcall: a call needs approval\r\n") || !strings.Contains(head, "To: people@example.com\r\n") || strings.Contains(head, "Bcc") {
		t.Errorf("the head is %q", head)
	}
	if !strings.Contains(body, `"bash\x0d\x0aBcc: everybody\u0040example.com`) || !strings.Contains(body, inbox+"/#/requests/01KAKZ") {
		t.Errorf("the letter is %q", body)
	}
	for _, one := range []struct {
		command, answer, want string
		permanent             bool
	}{
		{"AUTH", "535 no " + token, "answered 535", false},
		{"RCPT", "550 unknown", "answered 550", false},
		{"DATA", "451 later", "answered 451", false},
		{"DATA", "554 no", "answered 554", true},
	} {
		m.script = map[string]string{one.command: one.answer}
		_, err := s.channel.Post(t.Context(), notifytest.Delivery(r))
		if err == nil || errors.As(err, new(*notify.PermanentError)) != one.permanent || !strings.Contains(err.Error(), one.want) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", one.answer, err)
		}
	}
	m.script = map[string]string{"QUIT": "421 closing"} // the letter was taken
	if _, err := s.channel.Post(t.Context(), notifytest.Delivery(r)); err != nil || len(m.letters) != 2 {
		t.Errorf("%d letters, %v", len(m.letters), err)
	}
}
