package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp/fasthttputil"
)

// canaryFor bounds one canary request.
const canaryFor = 10 * time.Second

// Canary sends a tool call through every gated route of every dialect, in many
// spellings, streamed and whole, against an upstream in this process, with a
// policy that denies it. It returns an error for each call that would have
// reached an agent, or that was not judged: heldcall is then not ready.
// The handlers, routes and dialects are those that serve agents.
func (p *Proxy) Canary(ctx context.Context) error {
	c := canary{tool: "canary_" + strings.ToLower(rand.Text())}
	defer c.close()
	if err := c.start(p); err != nil {
		return fmt.Errorf("canary: %w", err)
	}
	var errs []error
	for _, u := range p.router.upstreams {
		for _, d := range p.options.Dialects {
			for _, r := range d.Routes() {
				for _, path := range spellings(u.Prefix + r.Path) {
					for _, streamed := range []bool{true, false} {
						if err := c.send(ctx, d, r, path, streamed); err != nil {
							errs = append(errs, fmt.Errorf("canary: %s %s (%s, streamed %t): %w", r.Method, path, d.Name(), streamed, err))
						}
					}
				}
			}
		}
	}
	return errors.Join(errs...)
}

// spellings are ways to write a path that servers may take for the same one.
func spellings(path string) []string {
	cut := strings.LastIndexByte(path, '/')
	head, tail := path[:cut], path[cut+1:]
	return []string{
		path,
		path + "/",
		"/" + path,
		head + "//" + tail,
		head + "/./" + tail,
		head + "/x/../" + tail,
		head + "/x/%2e%2e/" + tail,
		head + "/" + tail + ";x=1",
		head + "/" + fmt.Sprintf("%%%02x", tail[0]) + tail[1:],
		strings.ToUpper(path),
	}
}

// canary is a proxy like the one that serves agents, between an agent and an
// upstream that live in this process only.
type canary struct {
	tool     string
	proxy    *Proxy
	answer   atomic.Pointer[[]byte]
	asked    atomic.Int64
	agents   *fasthttputil.InmemoryListener
	upstream *fasthttputil.InmemoryListener
	model    *http.Server
}

func (c *canary) start(p *Proxy) error {
	o := p.options
	o.Registerer, o.Log, o.Tracing = nil, nil, Tracing{}
	o.MaxContinuations, o.Clients = 0, nil
	o.Judge = func(string) Judge { return canaryJudge{c} }
	o.Gate, o.Turns, o.Keeper = turn.Stateless{}, turn.Stateless{}, nil // no trace in the audit log
	o.Upstreams = nil
	for _, u := range p.options.Upstreams {
		o.Upstreams = append(o.Upstreams, Upstream{Prefix: u.Prefix, URL: "http://canary.invalid"})
	}
	var err error
	if c.proxy, err = New(o); err != nil {
		return err
	}
	c.agents, c.upstream = fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()
	for _, u := range c.proxy.router.upstreams {
		u.Dial = func(context.Context, string, string) (net.Conn, error) { return c.upstream.Dial() }
	}
	c.model = &http.Server{Handler: http.HandlerFunc(c.answerModel), ReadHeaderTimeout: canaryFor}
	go c.proxy.server.Serve(c.agents) //nolint:errcheck // ends with close
	go c.model.Serve(c.upstream)      //nolint:errcheck // ends with close
	return nil
}

func (c *canary) close() {
	if c.proxy == nil {
		return
	}
	c.proxy.stop(turn.ErrShuttingDown)
	for _, u := range c.proxy.router.upstreams {
		u.Close()
	}
	if c.agents != nil {
		c.agents.Close()
		c.upstream.Close()
		_ = c.proxy.server.Shutdown()
		_ = c.model.Close()
	}
}

// answerModel is the upstream: it calls the canary tool.
func (c *canary) answerModel(w http.ResponseWriter, _ *http.Request) {
	body := *c.answer.Load()
	w.Header().Set("Content-Type", "application/json")
	if bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:")) {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = w.Write(body)
}

func (c *canary) send(ctx context.Context, d intercept.Dialect, route intercept.Route, path string, streamed bool) error {
	request, answer := d.Canary(route, c.tool, streamed)
	c.answer.Store(&answer)
	asked := c.asked.Load()
	body, status, err := c.ask(ctx, request, path)
	switch {
	case err != nil:
		return err
	case bytes.Contains(body, []byte(c.tool)):
		return errors.New("the call reached the agent although it was denied")
	case status == http.StatusOK && c.asked.Load() == asked:
		return errors.New("the answer passed and policy was never asked")
	case status != http.StatusOK && path == strings.TrimRight(path, "/") && !strings.ContainsAny(path, "%;") && !strings.Contains(path, "//") && !strings.Contains(path, "/.") && path == strings.ToLower(path):
		return fmt.Errorf("the route is not served (status %d)", status)
	}
	return nil
}

func (c *canary) ask(ctx context.Context, request intercept.Envelope, path string) (body []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, canaryFor)
	defer cancel()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return c.agents.Dial() }, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, request.Method, "http://localhost", bytes.NewReader(request.Body))
	if err != nil {
		return nil, 0, err
	}
	req.URL.Opaque, req.URL.RawQuery = path, request.Query
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		return nil, 0, err
	}
	return b.Bytes(), resp.StatusCode, nil
}

// canaryJudge denies every call and counts the calls that it judged.
type canaryJudge struct{ *canary }

func (c canaryJudge) Judge(_ context.Context, from judge.Origin, call intercept.Call, _ map[string]string) (judge.Case, error) {
	return judge.Case{Verdict: c.Verdict(from, call)}, nil
}

func (c canaryJudge) Verdict(judge.Origin, intercept.Call) policy.Verdict {
	c.asked.Add(1)
	return policy.Verdict{Action: policy.Deny, Reason: "canary"}
}

// JudgesResults returns false: the canary's requests have none.
func (c canaryJudge) JudgesResults() bool { return false }

// DeniesUnseen returns false.
func (c canaryJudge) DeniesUnseen() bool { return false }

func (c canaryJudge) JudgeResult(policy.ResultKey, func() judge.Result) *policy.ResultVerdict {
	return &policy.ResultVerdict{Action: policy.Allow}
}

func (canaryJudge) Questions() (offer []string, always bool) { return nil, false }

func (canaryJudge) AsksPeople(string) bool { return false }

func (canaryJudge) QuestionTimeout(bool) time.Duration { return 0 }

func (canaryJudge) Secrets(judge.Origin, intercept.Call) []string { return nil }

func (canaryJudge) PermitsSecret(judge.Origin, intercept.Call, string) bool { return false }

func (canaryJudge) InsertSecrets(_ judge.Origin, c intercept.Call, _ []string) (string, error) {
	return c.Arguments, nil
}

func (canaryJudge) Name() string { return "" }

func (canaryJudge) Folder() string { return "" }

func (c canaryJudge) JudgeHosted(approvals.Principal, string) policy.Verdict {
	return policy.Verdict{Action: policy.Allow}
}
