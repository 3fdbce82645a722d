package slack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"

	slackapi "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

const (
	// maxClick bounds the body of a click: with the card that was clicked on.
	maxClick = 1 << 20
	// maxClicks is how many are handled at the same time.
	maxClicks = 32
)

// ServeHTTP handles clicks that Slack posts. A request that is not signed with the
// app's secret, or is older than five minutes, is refused before it is read.
func (c *Channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Slack posts here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxClick))
	if err != nil {
		http.Error(w, "the body is too long, or has no end", http.StatusBadRequest)
		return
	}
	if err := c.verify(r.Header, body); err != nil {
		c.unsigned.Do(func() { // everybody who reaches the address can send these
			c.log.Warn("request refused: not signed by Slack; check slack.signing_secret and the clock", "error", err)
		})
		http.Error(w, "not signed by Slack", http.StatusUnauthorized)
		return
	}
	var click slackapi.InteractionCallback
	form, err := url.ParseQuery(string(body))
	if err == nil {
		err = json.Unmarshal([]byte(form.Get("payload")), &click)
	}
	if err != nil {
		http.Error(w, "not an interaction", http.StatusBadRequest)
		return
	}
	answer := c.clicks.handle(r.Context(), &click)
	if answer == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // fails only if Slack is gone
}

// verify checks Slack's signature in constant time, and its age.
func (c *Channel) verify(header http.Header, body []byte) error {
	if c.secret == "" {
		return errors.New("the app has no signing secret: clicks come over Socket Mode")
	}
	verifier, err := slackapi.NewSecretsVerifier(header, c.secret)
	if err != nil {
		return err
	}
	if _, err := verifier.Write(body); err != nil {
		return err
	}
	return verifier.Ensure()
}

// Listen takes clicks over Socket Mode until the context ends. Without an app-level
// token there is nothing to listen to.
func (c *Channel) Listen(ctx context.Context) error {
	if c.socket == nil {
		<-ctx.Done()
		return nil
	}
	client := socketmode.New(c.socket, socketmode.OptionLog(silent{}))
	ctx, cancel := context.WithCancel(ctx)
	var handling sync.WaitGroup
	defer handling.Wait()
	defer cancel()
	slots := make(chan struct{}, maxClicks)
	handling.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case event := <-client.Events:
				c.receive(ctx, client, event, func(work func()) {
					slots <- struct{}{}
					handling.Go(func() { defer func() { <-slots }(); work() })
				})
			}
		}
	})
	err := client.RunContext(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return apiError(methodConnect, err)
}

func (c *Channel) receive(ctx context.Context, client *socketmode.Client, event socketmode.Event, beside func(func())) {
	switch event.Type {
	case socketmode.EventTypeConnected:
		c.log.Info("Slack is connected over Socket Mode")
	case socketmode.EventTypeConnectionError, socketmode.EventTypeInvalidAuth:
		c.log.Warn("Slack is not connected, so clicks have no effect; trying again", "event", string(event.Type))
	case socketmode.EventTypeInteractive:
		click, ok := event.Data.(slackapi.InteractionCallback)
		if !ok || event.Request == nil {
			return
		}
		beside(func() {
			var answer []any
			if response := c.clicks.handle(ctx, &click); response != nil {
				answer = append(answer, response)
			}
			if err := client.Ack(*event.Request, answer...); err != nil && ctx.Err() == nil {
				c.log.Warn("a click over Socket Mode cannot be acknowledged", "error", rootOf(err))
			}
		})
	}
}
