package app

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/notify"
)

// NotifyConfig defines where requests are announced, besides the console and NATS:
// channels, and which requests go to them.
type NotifyConfig struct {
	Slack    []SlackConfig    `yaml:"slack"`
	Webhooks []WebhookConfig  `yaml:"webhooks"`
	Shoutrrr []ShoutrrrConfig `yaml:"shoutrrr"`
	Routes   []RouteConfig    `yaml:"routes"` // empty: every channel gets every request
	Terminal TerminalConfig   `yaml:"terminal"`
}

// TerminalConfig defines the signs of held calls in the terminal of `heldcall run`, while its command draws on that.
type TerminalConfig struct {
	Title bool `yaml:"title"` // has the number of held calls
	OSC9  bool `yaml:"osc9"`  // a notification of the desktop, which the terminal shows
	Bell  bool `yaml:"bell"`
}

// SlackConfig is one Slack app in one workspace.
type SlackConfig struct {
	Name          string      `yaml:"name"` // as routes and metrics name it; empty: slack
	BotToken      Secret      `yaml:"bot_token"`
	AppToken      Secret      `yaml:"app_token"`      // for Socket Mode
	SigningSecret Secret      `yaml:"signing_secret"` // for clicks over HTTP, in place of it
	Channel       string      `yaml:"channel"`        // where routes name none
	APIURL        string      `yaml:"api_url"`        // empty: https://slack.com/api/
	Group         GroupConfig `yaml:"group"`
}

// GroupConfig bounds new cards: more than Cards in Within are put together.
type GroupConfig struct {
	Cards  int           `yaml:"cards"` // 0: 5; -1: no bound
	Within time.Duration `yaml:"within"`
}

// RouteConfig is one route. Conditions that are not given match everything.
type RouteConfig struct {
	To      []string      `yaml:"to"` // names of channels, or NAME:TARGET
	Tenants []string      `yaml:"tenants"`
	Tools   []string      `yaml:"tools"`
	Rules   []string      `yaml:"rules"`
	Groups  []string      `yaml:"groups"`
	Risk    string        `yaml:"risk" oneof:"low medium high critical"` // at least
	Hours   string        `yaml:"hours"`                                 // such as mon-fri 08:00-18:00 Europe/Berlin
	Quiet   QuietConfig   `yaml:"quiet"`
	Digest  time.Duration `yaml:"digest"`
}

// QuietConfig is a time whose requests a route sends later.
type QuietConfig struct {
	Hours  string `yaml:"hours"`
	Except string `yaml:"except_above" oneof:"low medium high"` // requests of a risk above this are sent at once
}

const (
	defaultGroupCards  = 5
	defaultGroupWithin = 10 * time.Second
)

// channelName is the form of names of channels, in routes, consumers and metrics.
var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// names are those of the channels that are configured, and whether routes name
// targets in them.
func (c NotifyConfig) names() (names []string, targets map[string]bool) {
	targets = map[string]bool{}
	for _, s := range c.Slack {
		names = append(names, s.Name)
		targets[s.Name] = true
	}
	for _, w := range c.Webhooks {
		names = append(names, w.Name)
		targets[w.Name] = false
	}
	for _, s := range c.Shoutrrr {
		names = append(names, s.Name)
		targets[s.Name] = false
	}
	return names, targets
}

// validateNotify fills in defaults, and adds values that cannot work.
func (r *configValidator) validateNotify(c *NotifyConfig) {
	taken := map[string]string{channelPush: "the channel of Web Push"}
	for i := range c.Slack {
		s, key := &c.Slack[i], strictyaml.Index("notify.slack", i)
		s.Name = cmp.Or(s.Name, "slack")
		r.validateChannel(key, s.Name, taken)
		r.validateGroup(key+".group", &s.Group)
		r.validateSlack(key, s)
	}
	r.validateWebhooks(c.Webhooks, taken)
	r.validateShoutrrr(c.Shoutrrr, taken)
	_, targets := c.names()
	for i := range c.Routes {
		r.validateRoute(strictyaml.Index("notify.routes", i), &c.Routes[i], targets)
	}
}

// validateChannel checks the name of a channel: its own, and of plain letters.
func (r *configValidator) validateChannel(key, name string, taken map[string]string) {
	if !channelName.MatchString(name) {
		r.Problem(key+".name", "%q is not a name; write lower-case letters, digits, - and _, at most 32", name)
	} else if first, twice := taken[name]; twice {
		r.Problem(key+".name", "%q is also the name of %s; give each their own", name, first)
	}
	taken[name] = key
}

func (r *configValidator) validateGroup(key string, g *GroupConfig) {
	g.Cards, g.Within = cmp.Or(g.Cards, defaultGroupCards), cmp.Or(g.Within, defaultGroupWithin)
	if g.Cards < -1 {
		r.Problem(key+".cards", "%d is less than -1, which is no bound; write for example 5", g.Cards)
	}
	if g.Within < time.Second {
		r.Problem(key+".within", "%s is less than a second; write for example 10s", g.Within)
	}
}

func (g GroupConfig) group() notify.Group {
	return notify.Group{Cards: max(g.Cards, 0), Within: g.Within}
}

func (r *configValidator) validateSlack(key string, s *SlackConfig) {
	if !strings.HasPrefix(string(s.BotToken), "xoxb-") {
		r.Problem(key+".bot_token", "is not a bot token, which begins with xoxb-: the app's page \"OAuth & Permissions\" has it")
	}
	if s.AppToken != "" && !strings.HasPrefix(string(s.AppToken), "xapp-") {
		r.Problem(key+".app_token", "is not an app-level token, which begins with xapp-: the app's page \"Basic Information\" makes one, with the scope connections:write")
	}
	if s.AppToken != "" && s.SigningSecret != "" {
		r.Problem(key, "give at most one of app_token (Socket Mode) and signing_secret (HTTP): clicks come one way")
	}
	if s.Channel == "" {
		r.Problem(key+".channel", "is missing; write the id of a conversation, such as C0123ABCD, that the app has been invited to")
	}
	if s.APIURL != "" {
		r.validateURL(key+".api_url", s.APIURL, "http", "https")
		s.APIURL = strings.TrimSuffix(s.APIURL, "/") + "/"
	}
}

func (r *configValidator) validateRoute(key string, c *RouteConfig, targets map[string]bool) {
	r.validateDestinations(key+".to", c.To, targets)
	r.validatePatterns(key+".tenants", c.Tenants)
	r.validatePatterns(key+".tools", c.Tools)
	r.validatePatterns(key+".rules", c.Rules)
	if _, err := parseHours(c.Hours); err != nil {
		r.Problem(key+".hours", "%s", err)
	}
	if _, err := parseHours(c.Quiet.Hours); err != nil {
		r.Problem(key+".quiet.hours", "%s", err)
	}
	if c.Quiet.Except != "" && c.Quiet.Hours == "" {
		r.Problem(key+".quiet.except_above", "is for quiet.hours; give those too, or remove it")
	}
	if c.Digest != 0 && (c.Digest < time.Minute || (24*time.Hour)%c.Digest != 0) {
		r.Problem(key+".digest", "%s is not a part of a day of at least a minute; write for example 15m, 1h or 8h", c.Digest)
	}
}

// validateDestinations checks the channels of a route, and the targets in them.
func (r *configValidator) validateDestinations(key string, destinations []string, targets map[string]bool) {
	if len(destinations) == 0 {
		r.Problem(key, "is empty; name the channels, such as [slack]")
	}
	for i, to := range destinations {
		name, target, named := strings.Cut(to, ":")
		takes, known := targets[name]
		switch {
		case !known:
			r.Problem(strictyaml.Index(key, i), "%q is not the name of a channel under notify", name)
		case named && (target == "" || !takes):
			r.Problem(strictyaml.Index(key, i), "%q names no place that this kind of channel knows; write %q", to, name)
		}
	}
}

func (r *configValidator) validatePatterns(key string, patterns []string) {
	for i, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			r.Problem(strictyaml.Index(key, i), "%q is not a pattern: a bracket or backslash has no end", pattern)
		}
	}
}

// routes returns the routes of the dispatcher. The configuration has been checked.
func (c NotifyConfig) routes() notify.Routes {
	var routes notify.Routes
	for _, from := range c.Routes {
		route := notify.Route{Tenants: from.Tenants, Tools: from.Tools, Rules: from.Rules, Groups: from.Groups, Risk: approvals.Risk(from.Risk), Digest: from.Digest}
		for _, to := range from.To {
			name, target, _ := strings.Cut(to, ":")
			route.To = append(route.To, notify.Destination{Channel: name, Target: target})
		}
		route.Hours, _ = parseHours(from.Hours)
		if quiet, _ := parseHours(from.Quiet.Hours); quiet != nil {
			route.Quiet = &notify.Quiet{Hours: *quiet, Except: approvals.Risk(from.Quiet.Except)}
		}
		routes = append(routes, route)
	}
	return routes
}

// hoursForm is [days] from-to [zone].
var hoursForm = regexp.MustCompile(`^(?:([a-z,-]+) )?(\d\d:\d\d)-(\d\d:\d\d)(?: ([A-Za-z_/+0-9-]+))?$`)

// parseHours reads hours such as "mon-fri 08:00-18:00 Europe/Berlin"; none of an
// empty text.
func parseHours(text string) (*notify.Hours, error) {
	if text == "" {
		return nil, nil
	}
	parts := hoursForm.FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("%q is not a time of day: write for example mon-fri 08:00-18:00 Europe/Berlin; days and zone may be left out", text)
	}
	h := &notify.Hours{}
	var err error
	if h.Days, err = parseDays(parts[1]); err != nil {
		return nil, err
	}
	for i, into := range []*time.Duration{&h.From, &h.To} {
		clock, err := time.Parse("15:04", parts[2+i])
		if err != nil {
			return nil, fmt.Errorf("%q is not a time of day: write 00:00 to 23:59", parts[2+i])
		}
		*into = time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute
	}
	if h.Zone, err = time.LoadLocation(cmp.Or(parts[4], "UTC")); err != nil {
		return nil, fmt.Errorf("%q is not a time zone that this machine knows: write for example Europe/Berlin, or leave it out for UTC", parts[4])
	}
	return h, nil
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// parseDays reads days such as mon-fri or sat,sun.
func parseDays(text string) ([]time.Weekday, error) {
	var days []time.Weekday
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			return nil, nil
		}
		from, to, span := strings.Cut(part, "-")
		if !span {
			to = from
		}
		first, last := slices.Index(weekdays, from), slices.Index(weekdays, to)
		if first < 0 || last < 0 {
			return nil, fmt.Errorf("%q is not a day of the week: write mon, tue, wed, thu, fri, sat or sun, or a span such as mon-fri", part)
		}
		for day := first; ; day = (day + 1) % len(weekdays) {
			days = append(days, time.Weekday(day))
			if day == last {
				break
			}
		}
	}
	return days, nil
}
