// A bot for a chat: it posts pending requests to an incoming webhook, and takes
// "approve ID" and "deny ID why" from an outgoing one, as Mattermost, Rocket.Chat and
// others have them. It is a NATS client and a small HTTP server, and decides as the
// reviewer whose token it has: everybody who may write in the chat may answer.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// request is what the bot needs of a request, or of heldcall's answer.
type request struct {
	ID, Status string
	Tool       string `json:"tool_name"`
	Risk       string `json:"risk_level"`
	Arguments  json.RawMessage
	Code       string // why there is no request
	Message    string // the same in words
}

const (
	patience = 10 * time.Second
	shown    = 1500 // bytes of arguments; a longer call is not approved in a chat
)

var (
	reviewer = cmp.Or(os.Getenv("HELDCALL_REVIEWER"), "local")
	chat     = http.Client{Timeout: patience}
	order    = regexp.MustCompile(`^\s*(approve|deny) ([0-9A-Z]{26})\b\s*(.*)$`)
)

func main() {
	fmt.Fprintln(os.Stderr, run(context.Background()))
	os.Exit(1)
}

// run forwards until something fails.
func run(ctx context.Context) error {
	if os.Getenv("CHAT_WEBHOOK") == "" || os.Getenv("CHAT_TOKEN") == "" {
		return errors.New("set CHAT_WEBHOOK (where to post) and CHAT_TOKEN (what the chat sends along)")
	}
	url := cmp.Or(os.Getenv("NATS_URL"), "nats://127.0.0.1:4143")
	nc, err := nats.Connect(url, nats.Token(os.Getenv("HELDCALL_TOKEN")))
	if err != nil {
		return fmt.Errorf("no NATS at %s (%w): is heldcall running? NATS_URL names another server", url, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	durable := jetstream.ConsumerConfig{Durable: "chat-" + reviewer, AckPolicy: jetstream.AckExplicitPolicy} // requests wait for the bot while it is away
	waiting, err := js.CreateOrUpdateConsumer(ctx, "HELDCALL_REQUESTS", durable)
	if err != nil {
		return fmt.Errorf("read requests at %s: %w", url, err)
	}
	consuming, err := waiting.Consume(func(m jetstream.Msg) {
		if err := forward(nc, m.Data()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			_ = m.NakWithDelay(time.Second)
			return
		}
		_ = m.Ack() // if that is lost, it is posted again
	})
	if err != nil {
		return err
	}
	defer consuming.Stop()
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:4190"))
	if err != nil {
		return err
	}
	fmt.Printf("ready at http://%s\n", listener.Addr())
	server := http.Server{ReadTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hear(nc, w, r) })}
	return server.Serve(listener)
}

// call sends a request to heldcall. A reply without a request is an error.
func call(nc *nats.Conn, subject, payload string) (r request, err error) {
	reply, err := nc.Request("heldcall.v1."+subject, []byte(payload), patience)
	if err == nil {
		err = json.Unmarshal(reply.Data, &r)
	}
	if err == nil && r.ID == "" {
		err = errors.New(cmp.Or(r.Message, "heldcall answers without a request"))
	}
	return r, err
}

// forward posts a request that still waits.
func forward(nc *nats.Conn, data []byte) error {
	var r request
	if json.Unmarshal(data, &r) != nil || r.ID == "" {
		return nil // nothing that anybody could decide
	}
	r, err := call(nc, "svc.requests.get", fmt.Sprintf(`{"id":%q}`, r.ID))
	if r.Code == "unknown_request" { // long over
		return nil
	}
	if err != nil || r.Status != "pending" {
		return err
	}
	text := fmt.Sprintf("A call of %s, risk %s, is too long for a chat: decide %s in the inbox", code(r.Tool), r.Risk, r.ID)
	if len(r.Arguments) <= shown {
		text = fmt.Sprintf("A call of %s, risk %s: %s\napprove %s\ndeny %s WHY", code(r.Tool), r.Risk, code(string(r.Arguments)), r.ID, r.ID)
	}
	body, _ := json.Marshal(map[string]string{"text": text})
	resp, err := chat.Post(os.Getenv("CHAT_WEBHOOK"), "application/json", bytes.NewReader(body))
	if err != nil {
		return errors.New("the chat cannot be reached") // the error itself has the URL, a secret
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the chat answered %s", resp.Status)
	}
	return nil
}

// code is a text of a model that has no effect in the chat: on one line, with escapes
// for invisible characters, and for those that would end the code or mention somebody.
func code(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return "`" + strings.NewReplacer("`", `\x60`, "@", `\x40`, `\"`, `"`).Replace(quoted[1:len(quoted)-1]) + "`"
}

// hear takes one message of the chat, and answers in it.
func hear(nc *nats.Conn, w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	given, want := sha256.Sum256([]byte(r.PostFormValue("token"))), sha256.Sum256([]byte(os.Getenv("CHAT_TOKEN")))
	if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		http.Error(w, "not from the chat", http.StatusUnauthorized)
		return
	}
	text := "I take: approve ID, or deny ID WHY"
	if part := order.FindStringSubmatch(r.PostFormValue("text")); part != nil {
		text = decide(nc, part[1], part[2], strings.TrimSpace(part[3]), r.PostFormValue("user_name"))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"text": text})
}

// decide sends a decision, and returns its outcome as a text.
func decide(nc *nats.Conn, action, id, why, who string) string {
	r, err := call(nc, "svc.requests.get", fmt.Sprintf(`{"id":%q}`, id))
	if err == nil && action == "approve" && len(r.Arguments) > shown {
		return "Nobody has seen all of it here: decide it in the inbox."
	}
	payload, _ := json.Marshal(map[string]string{"action": action, "note": strings.TrimSpace(why + " (" + who + ", in the chat)")})
	if err == nil {
		r, err = call(nc, "decide."+reviewer+"."+id, string(payload))
	}
	if err != nil {
		return cmp.Or(r.Message, "heldcall does not answer: "+code(err.Error()))
	}
	return id + " is " + r.Status
}
