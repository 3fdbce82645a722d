package proxy

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/hooks"
	"github.com/heldcall/heldcall/internal/toolname"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/inner"
	"github.com/valyala/fasthttp"
)

const (
	hookRoute  = "hook"
	proofRoute = "proof"
	// maxDeadline bounds how long a hook waits for people.
	maxDeadline = 24 * time.Hour
)

// ownRoute is the route of a path of heldcall's own; without a label for others.
func ownRoute(path string) route {
	if path == hooks.ProofPath {
		return route{label: proofRoute, path: path}
	}
	if client, ok := strings.CutPrefix(path, hooks.Path); ok {
		return route{label: hookRoute, path: path, hook: cmp.Or(hooks.Of(client), unknownHook())}
	}
	return route{}
}

// unknownHook is the form in which a path that names no client is denied: that of the client that asks over HTTP.
func unknownHook() *hooks.Form { return hooks.Of("claude-code") }

// hookOf is the form of the client whose hook has sent a request, nil for others.
func hookOf(h *fasthttp.RequestHeader) *hooks.Form {
	target, _, _ := strings.Cut(string(h.RequestURI()), "?")
	path, err := normalPath(target)
	if err != nil {
		return nil
	}
	return ownRoute(path).hook
}

// newInner makes the judge of calls that hooks ask about.
func (p *Proxy) newInner() *inner.Judge {
	o := &p.options
	var keeper inner.Keeper
	if o.Keeper != nil {
		keeper = hookKeeper{o.Keeper}
	}
	return &inner.Judge{Options: inner.Options{
		Gate: o.Gate, Rules: func(client string) inner.Rules { return o.Judge(client) }, Store: o.Turns, Releases: p.releases, Keeper: keeper,
		Results: o.Results, Used: o.Used, MaxWait: o.MaxWait, Draining: p.turns.Draining(), Log: p.log,
	}}
}

// answerHook answers a client's own hook about a call. Whatever happens, the answer has status 200 and the form of the
// client: clients run the call after another status.
func (x *agentExchange) answerHook(r *agentRequest, h *fasthttp.RequestHeader) *intercept.Error {
	defer x.release()
	form := x.route.hook
	if x.route.path != hooks.Path+form.Client {
		return badRequest("the path names no client: use " + hooks.Path + " and one of " + strings.Join(hooks.Clients(), ", "))
	}
	if r.method != fasthttp.MethodPost || r.has(idContentEncoding) {
		return badRequest("a hook's input is sent by POST and is not compressed")
	}
	deadline, refusal := r.deadline(h, form)
	if refusal != nil {
		return refusal
	}
	event, err := form.Read(r.body)
	if err != nil {
		return badRequest(err.Error())
	}
	answer := x.proxy.inner.Ask(x.agent.ctx, &inner.Call{
		Turn: x.id, Client: x.client, KeyDigest: cmp.Or(x.client, (&conversation.Request{APIKey: r.apiKey()}).DigestKey()), Principal: x.who, Session: event.Session,
		Call: event.Call, Model: event.Model, Offer: offeredTo(form, event.Call.Name), Until: x.began.Add(deadline),
	})
	x.agent.answerHook(form, event, hooks.Answer{Allow: answer.Allowed(), Arguments: answer.Arguments, Reason: answer.Reason}, x.client)
	x.agent.OnSent(answer.Sent)
	return nil
}

// deadline is how long the agent waits for the answer to its hook.
func (r *agentRequest) deadline(h *fasthttp.RequestHeader, form *hooks.Form) (time.Duration, *intercept.Error) {
	text := string(header(h, hooks.HeaderDeadline))
	if text == "" {
		text = queryValue(r.query, "deadline")
	}
	if text == "" {
		return form.Timeout(), nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || seconds <= 0 {
		return 0, badRequest(fmt.Sprintf("%s, or deadline in the query, is not a positive number of seconds", hooks.HeaderDeadline))
	}
	return time.Duration(min(seconds, maxDeadline.Seconds()) * float64(time.Second)), nil
}

// queryValue is the first value of a name in a query.
func queryValue(query, name string) string {
	var args fasthttp.Args
	args.Parse(query)
	return string(args.Peek(name))
}

// offeredTo returns the tools of a client in place of an offer, which a hook has not: those of its profiles, and each of
// an MCP server. People are asked about others.
func offeredTo(form *hooks.Form, name string) *intercept.Offer {
	names := slices.Clone(form.Tools)
	for _, tool := range call.KnownProfiles().Of(form.Agents).All() {
		names = append(names, tool.Name)
	}
	if toolname.IsMCP(name) {
		names = append(names, name)
	}
	return intercept.OfferOf(names...)
}

// answerHook writes the answer to a hook: to heldcall's own command in the form that only it reads. client is the SHA-256
// of the key of a configured client, in hex, or "".
func (a *agent) answerHook(form *hooks.Form, event *hooks.Event, answer hooks.Answer, client string) {
	if a.conn != nil {
		a.conn.DiscardBuffered()
	}
	resp := a.response()
	resp.ResetBody()
	resp.SetStatusCode(fasthttp.StatusOK)
	h := &a.request().Header
	if string(header(h, fasthttp.HeaderAccept)) != hooks.MediaType {
		resp.Header.SetContentType("application/json")
		resp.SetBody(form.Body(event, answer))
		return
	}
	var digest []byte
	if client != "" {
		digest, _ = hex.DecodeString(client) // a digest that does not decode proves nothing
	}
	resp.Header.SetContentType(hooks.MediaType)
	resp.SetBody(answer.Encode(string(header(h, hooks.HeaderNonce)), digest))
}

// refuseHook denies the call of a hook because of an error.
func (a *agent) refuseHook(form *hooks.Form, e *intercept.Error) {
	a.answerHook(form, nil, hooks.Answer{Reason: "heldcall did not judge this call, so it was not run: " + e.Reason + "."}, "")
}

// answerProof proves that heldcall knows the key of a client, before that sends it anything. A server that passes the
// question on to heldcall gets a proof too, and can only pass on what is signed.
func (x *agentExchange) answerProof(h *fasthttp.RequestHeader) *intercept.Error {
	defer x.release()
	_, query, _ := strings.Cut(string(h.RequestURI()), "?")
	id, nonce := queryValue(query, "key"), queryValue(query, "nonce")
	if len(nonce) < 16 || len(nonce) > 256 {
		return badRequest("nonce is not a text of 16 to 256 bytes")
	}
	for key := range x.proxy.clients.Load().principals {
		digest, err := hex.DecodeString(key)
		if err != nil || hooks.KeyID(digest) != id {
			continue
		}
		resp := x.agent.response()
		resp.Header.SetContentType("text/plain; charset=utf-8")
		resp.SetBodyString(hooks.Proof(digest, "server", nonce, string(h.Host())))
		return nil
	}
	return &intercept.Error{Code: intercept.CodeBadRequest, Reason: "no client in proxy.clients has this key"}
}

// hookKeeper is the keeper of held turns for hooks.
type hookKeeper struct{ Keeper }

func (k hookKeeper) Keep(ctx context.Context, t approvals.HeldTurn, snapshot []byte) (inner.Attachment, error) {
	a, err := k.Keeper.Keep(ctx, t, snapshot)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (k hookKeeper) Claim(ctx context.Context, c heldturns.Candidate) (inner.Attachment, []byte, error) {
	a, snapshot, err := k.Keeper.Claim(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return a, snapshot, nil
}
