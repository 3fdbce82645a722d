package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/console/client"
)

// pendingGate is a gate in memory with one pending request.
type pendingGate struct {
	console.Gate // the examples call nothing else
	request      approvals.Request
}

func (g *pendingGate) Requests(_ context.Context, f approvals.Filter) (page approvals.Page, err error) {
	if f.Status == g.request.Status {
		page.Items = append(page.Items, g.request)
	}
	return page, nil
}

func (g *pendingGate) Request(context.Context, string) (approvals.Request, error) {
	return g.request, approvals.ErrUnknownRequest
}

func (g *pendingGate) Decide(_ context.Context, d approvals.Decision) (approvals.Request, error) {
	if g.request.Status.Final() {
		return g.request, &approvals.DecidedError{Request: g.request}
	}
	g.request.Status = approvals.StatusApproved
	g.request.Decisions = append(g.request.Decisions, d)
	return g.request, nil
}

func (g *pendingGate) LastSeq(context.Context) (uint64, error) { return 1, nil }

func (g *pendingGate) Subscribe(ctx context.Context, _ uint64) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		required := g.request.RequiredEvent()
		required.Seq = 1
		if yield(required, nil) {
			<-ctx.Done()
		}
	}
}

// startConsole starts a console without reviewers and returns its URL.
func startConsole() (url string, stop func()) {
	request := approvals.Request{ID: "01JD3K6Z7Q8XK2M4N5P6R7S8T9", Status: approvals.StatusPending, ToolName: "bash", ArgsPreview: "rm -r cache"}
	server, err := console.New(console.Options{Listen: "127.0.0.1:0", Gate: &pendingGate{request: request}})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	return "http://" + server.Addr(), func() {
		if err := server.Shutdown(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
}

func ExampleClient_Requests() {
	url, stop := startConsole()
	defer stop()
	c, err := client.New(url) // with reviewers: c = c.WithToken(token)
	if err != nil {
		log.Fatal(err)
	}
	filter := approvals.Filter{Status: approvals.StatusPending}
	for {
		page, err := c.Requests(context.Background(), filter)
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range page.Items {
			fmt.Println(r.ID, r.ToolName, r.ArgsPreview)
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	// Output: 01JD3K6Z7Q8XK2M4N5P6R7S8T9 bash rm -r cache
}

func ExampleClient_Decide() {
	url, stop := startConsole()
	defer stop()
	c, err := client.New(url)
	if err != nil {
		log.Fatal(err)
	}
	decision := approvals.Decision{RequestID: "01JD3K6Z7Q8XK2M4N5P6R7S8T9", Action: approvals.ActionApprove, Note: "fine"}
	r, err := c.Decide(context.Background(), decision)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Status, "by", r.Decisions[0].ReviewerID)

	// The first decision wins; a later one returns it.
	_, err = c.Decide(context.Background(), decision)
	if decided := (*approvals.DecidedError)(nil); errors.As(err, &decided) {
		fmt.Println("already", decided.Request.Status)
	}
	// Output:
	// approved by local
	// already approved
}

func ExampleClient_Events() {
	url, stop := startConsole()
	defer stop()
	c, err := client.New(url)
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range c.Events(context.Background(), 0) {
		if err != nil {
			log.Fatal(err) // to continue, call Events with the last Seq
		}
		fmt.Println(event.Seq, event.Type, event.ToolName)
		break
	}
	// Output: 1 approval_required bash
}
