// Package client is a client of the console of a running heldcall. Its methods return
// the same errors as the gate of the console, and [UnreachableError]. To read it:
// client.go, then a file for each resource, events.go and live.go for the streams.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// requestTimeout bounds one exchange, event streams aside.
const requestTimeout = 30 * time.Second

// Client is a client of one console. It is safe for concurrent use.
type Client struct {
	base  string // without trailing slash
	token string // of a reviewer; "" sends none
	http  *http.Client
}

// UnreachableError reports that no heldcall answers at the console's URL.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no heldcall answers at %s (%v): start one with `heldcall serve`, or name another with --console URL or --config FILE", e.URL, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// New makes a client of the console at a URL such as http://127.0.0.1:4142.
func New(console string) (*Client, error) {
	u, err := url.Parse(console)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, fmt.Errorf("console URL %q is not valid: write for example http://127.0.0.1:4142", console)
	}
	return &Client{
		base: strings.TrimRight(u.String(), "/"),
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// WithToken is a client of the same console for the reviewer whose token this
// is. A console without reviewers needs none.
func (c *Client) WithToken(token string) *Client {
	other := *c
	other.token = token
	return &other
}

// Self is the reviewer that the console knows the client as.
type Self struct {
	reviewers.Reviewer
	// DecidesFor are the reviewers in whose place Self may decide, by their delegations.
	DecidesFor []Delegator `json:"decides_for"`
	// SelfApproval is true if Self may approve requests of agents that act for Self.
	SelfApproval bool `json:"self_approval"`
}

// Delegator is a reviewer in whose place another may decide.
type Delegator struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

// InAnyOf reports whether Self is in one of the groups, or decides in the place of
// somebody who is.
func (s Self) InAnyOf(groups []string) bool {
	own := slices.Clone(s.Groups)
	for _, other := range s.DecidesFor {
		own = append(own, other.Groups...)
	}
	return slices.ContainsFunc(own, func(g string) bool { return g == "*" || slices.Contains(groups, g) })
}

// Me returns the reviewer that the console knows the client as. It fails with a
// [*problem.Problem] of code [problem.CodeUnauthenticated] if a token is needed,
// and [problem.CodeWrongToken] if the token is unknown.
func (c *Client) Me(ctx context.Context) (Self, error) {
	return call[Self](ctx, c, http.MethodGet, "/api/v1/me", nil)
}

// Requests lists requests, newest first, one page a call. Large ones are abridged, see
// [approvals.Request.Abridged]; [Client.Request] reads them whole. A page of a search may be
// short, or empty, and have a next one nevertheless.
func (c *Client) Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	query := queryOf(f.Limit, map[string]string{
		"status": string(f.Status), "kind": string(f.Kind), "risk": string(f.Risk),
		"session_id": f.SessionID, "run_id": f.RunID, "q": f.Text, "cursor": f.Cursor,
	})
	return call[approvals.Page](ctx, c, http.MethodGet, "/api/v1/requests?"+query, nil)
}

// Request reads one request. It fails with [approvals.ErrUnknownRequest].
func (c *Client) Request(ctx context.Context, id string) (approvals.Request, error) {
	r, err := call[approvals.Request](ctx, c, http.MethodGet, "/api/v1/requests/"+url.PathEscape(id), nil)
	return r, notFound(err, approvals.ErrUnknownRequest)
}

// Decide decides the request d.RequestID and returns it after the decision. It fails
// with [*approvals.DecidedError], which contains the request with an earlier decision,
// [*approvals.InvalidError] or [approvals.ErrUnknownRequest]. The console sets the
// reviewer, the channel and the time.
func (c *Client) Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error) {
	r, err := call[approvals.Request](ctx, c, http.MethodPost, "/api/v1/requests/"+url.PathEscape(d.RequestID)+"/decision", decisionBody(d))
	return r, notFound(err, approvals.ErrUnknownRequest)
}

func decisionBody(d approvals.Decision) map[string]any {
	payload := map[string]any{"action": d.Action}
	add := func(name string, given bool, value any) {
		if given {
			payload[name] = value
		}
	}
	add("modified_args", d.ModifiedArgs != nil, d.ModifiedArgs)
	add("note", d.Note != "", d.Note)
	add("window", d.Window != "", d.Window)
	add("confirm", d.Confirm != "", d.Confirm)
	add("patterns", d.Patterns != nil, d.Patterns)
	add("scope", d.Scope != "", d.Scope)
	add("template", d.Template != "", d.Template)
	if d.GrantExpiresAt != nil {
		payload["grant_expires_at"] = approvals.GrantEnd{Time: *d.GrantExpiresAt}
	}
	add("answer", d.Answer != "", d.Answer)
	add("selected", d.Selected != nil, d.Selected)
	add("values", d.Values != nil, d.Values)
	add("responses", d.Responses != nil, d.Responses)
	add("save", d.Save, d.Save)
	return payload
}

// Ready reports whether heldcall can hold and release calls. If not, the error is a
// [*problem.Problem] with the checks that failed.
func (c *Client) Ready(ctx context.Context) error {
	return c.exchange(ctx, http.MethodGet, "/readyz", nil, nil)
}

// notFound returns unknown in place of the error of a 404.
func notFound(err, unknown error) error {
	if p := (*problem.Problem)(nil); errors.As(err, &p) && p.Code == problem.CodeNotFound {
		return unknown
	}
	return err
}

// queryOf encodes the fields that have a value, and a limit above 0.
func queryOf(limit int, fields map[string]string) string {
	query := url.Values{}
	for name, value := range fields {
		if value != "" {
			query.Set(name, value)
		}
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return query.Encode()
}

// call returns the decoded answer to a request with an optional JSON body.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (result T, err error) {
	err = c.exchange(ctx, method, path, body, &result)
	return result, err
}

// encode keeps the spelling of edited arguments.
func encode(value any) (*bytes.Buffer, error) {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, &approvals.InvalidError{Field: "modified_args", Reason: "is not valid JSON: " + err.Error()}
	}
	return &content, nil
}

// exchange sends one request with an optional JSON body and decodes the answer
// into result, if that is not nil.
func (c *Client) exchange(ctx context.Context, method, path string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := c.send(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return &UnreachableError{URL: c.base, Err: err}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(content, result); err != nil {
		return fmt.Errorf("%s is not heldcall's console; is another program there? (%w)", c.base, err)
	}
	return nil
}

// send returns the response if its status is 200, else its error.
func (c *Client) send(ctx context.Context, method, path string, header http.Header, body any) (*http.Response, error) {
	content := &bytes.Buffer{}
	if body != nil {
		var err error
		if content, err = encode(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, fmt.Errorf("make the request to %s: %w", c.base, err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if failed := (*url.Error)(nil); errors.As(err, &failed) {
			err = failed.Err // the URL is named already
		}
		return nil, &UnreachableError{URL: c.base, Err: err}
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, c.failure(response)
	}
	return response, nil
}

// failure reads what the console reports into an error of the domain.
func (c *Client) failure(response *http.Response) error {
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return &UnreachableError{URL: c.base, Err: err}
	}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	var p problem.Problem
	if media != problem.ContentType || json.Unmarshal(content, &p) != nil {
		return fmt.Errorf("%s answers %s and is not heldcall's console; is another program there? Use the address of console.listen, not that of proxy.listen", c.base, response.Status)
	}
	return reported(&p)
}

func reported(p *problem.Problem) error {
	switch {
	case p.Code == problem.CodeAlreadyDecided && p.Request != nil:
		return &approvals.DecidedError{Request: *p.Request}
	case p.Code == problem.CodeInvalid:
		return &approvals.InvalidError{Field: p.Field, Reason: p.Reason}
	case p.Code == problem.CodeStoreUnavailable:
		return &storeError{p}
	}
	return p
}

type storeError struct{ problem *problem.Problem }

func (e *storeError) Error() string { return e.problem.Error() }

func (e *storeError) Is(target error) bool { return target == approvals.ErrStoreUnavailable }

func (e *storeError) Unwrap() error { return e.problem }
