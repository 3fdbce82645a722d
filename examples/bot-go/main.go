// A bot that answers for people: reading is fine, removing is not, the rest
// waits for somebody. It is a NATS client and nothing else.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
)

// request is what the bot needs of a request.
type request struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	Details   struct {
		Abridged bool `json:"abridged"` // a large request in a list has no arguments
	} `json:"details"`
}

const patience = 10 * time.Second // with a reply

var (
	removes = regexp.MustCompile(`\b(rm|rmdir|del|delete|remove)\b`)
	reads   = regexp.MustCompile(`^(read|list|get)_\w+$`)
)

// decide is the payload of a decision, "" where people have to answer.
func (r request) decide() string {
	switch {
	case removes.MatchString(r.Tool + " " + string(r.Arguments)):
		return `{"action":"deny","note":"Nothing is removed here. Move it to trash/ instead."}`
	case reads.MatchString(r.Tool):
		return `{"action":"approve"}`
	}
	return ""
}

func main() {
	fmt.Fprintln(os.Stderr, run())
	os.Exit(1)
}

// run answers until something fails.
func run() error {
	url := cmp.Or(os.Getenv("NATS_URL"), "nats://127.0.0.1:4143")
	nc, err := nats.Connect(url)
	if err != nil {
		return fmt.Errorf("no NATS at %s (%w): is heldcall running? NATS_URL names another server", url, err)
	}
	requests, err := nc.SubscribeSync("heldcall.v1.requests.>")
	if err != nil {
		return err
	}
	reply, err := nc.Request("heldcall.v1.svc.requests.list", []byte(`{"status":"pending","limit":500}`), patience) // asked before
	if err != nil {
		return fmt.Errorf("heldcall does not answer at %s: %w", url, err)
	}
	var waiting struct{ Items []request }
	if err := json.Unmarshal(reply.Data, &waiting); err != nil {
		return err
	}
	fmt.Println("ready")
	for _, r := range waiting.Items {
		if r, err = r.whole(nc); err != nil {
			return err
		}
		if err := r.answer(nc); err != nil {
			return err
		}
	}
	for {
		m, err := requests.NextMsgWithContext(context.Background())
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(m.Data, &r); err != nil {
			return err
		}
		if err := r.answer(nc); err != nil {
			return err
		}
	}
}

// whole is the request with its arguments.
func (r request) whole(nc *nats.Conn) (request, error) {
	if !r.Details.Abridged {
		return r, nil
	}
	reply, err := nc.Request("heldcall.v1.svc.requests.get", fmt.Appendf(nil, `{"id":%q}`, r.ID), patience)
	if err != nil {
		return r, err
	}
	var full request
	if err := json.Unmarshal(reply.Data, &full); err != nil || full.ID != r.ID {
		return r, fmt.Errorf("read request %s: %s (%w)", r.ID, reply.Data, err)
	}
	return full, nil
}

// answer decides a request, or leaves it to people.
func (r request) answer(nc *nats.Conn) error {
	decision := r.decide()
	fmt.Printf("%s %q %q -> %s\n", r.ID, r.Tool, r.Arguments, cmp.Or(decision, "waits for people"))
	if decision == "" {
		return nil
	}
	reply, err := nc.Request("heldcall.v1.decide.local."+r.ID, []byte(decision), patience)
	if err != nil {
		return err
	}
	var now struct{ Status, Code, Message string } // the request after the decision, or {"code", "message"}
	if err := json.Unmarshal(reply.Data, &now); err != nil {
		return err
	}
	fmt.Println(r.ID, now.Status, now.Code, now.Message)
	return nil
}
