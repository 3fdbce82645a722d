package fakemodel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Ruling is what a scripted reviewer decides.
type Ruling struct {
	Action       approvals.Action `json:"action"`
	ModifiedArgs json.RawMessage  `json:"modified_args,omitempty"`
	Note         string           `json:"note,omitempty"`
	// Of the action answer: to one question, and to several by their ids.
	approvals.Response
	Responses map[string]approvals.Response `json:"responses,omitempty"`
}

// Reviewer is a reviewer that follows a script. It decides over the console's
// REST API, as any other reviewer would.
type Reviewer struct {
	Console string        // base URL of the console
	Every   time.Duration // between two lists of pending requests; 0 means 20 ms
	Token   func() string // of the reviewer, for each request to the console; nil: none
	// Decide is asked again and again while a request is pending; nil leaves it
	// pending. It is called by Run only.
	Decide func(approvals.Request) *Ruling
	// Refused gets a ruling that the console did not accept, with its status and body.
	Refused func(request approvals.Request, status int, body string)
}

// Run decides until ctx ends, which is no error. It returns an error when the
// console cannot be reached or does not answer a list; if the console answers 503, Run
// tries again.
func (r *Reviewer) Run(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	look := time.NewTicker(or(r.Every, 20*time.Millisecond))
	defer look.Stop()
	for {
		pending, err := r.pending(ctx, client)
		for i := 0; err == nil && i < len(pending); i++ {
			err = r.rule(ctx, client, pending[i])
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// pending lists the pending requests, the oldest first.
func (r *Reviewer) pending(ctx context.Context, client *http.Client) ([]approvals.Request, error) {
	var page struct {
		Items []approvals.Request `json:"items"`
	}
	status, body, err := r.call(ctx, client, http.MethodGet, r.Console+"/api/v1/requests?status=pending&limit=500", nil)
	if err != nil {
		return nil, fmt.Errorf("listing pending requests: %w", err)
	}
	if status == http.StatusServiceUnavailable {
		return nil, nil
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("listing pending requests: the console answered %d: %s", status, body)
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("listing pending requests: %w", err)
	}
	for i, j := 0, len(page.Items)-1; i < j; i, j = i+1, j-1 {
		page.Items[i], page.Items[j] = page.Items[j], page.Items[i]
	}
	return page.Items, nil
}

func (r *Reviewer) rule(ctx context.Context, client *http.Client, request approvals.Request) error {
	ruling := r.Decide(request)
	if ruling == nil {
		return nil
	}
	url := r.Console + "/api/v1/requests/" + request.ID + "/decision"
	status, body, err := r.call(ctx, client, http.MethodPost, url, encode(ruling))
	if err != nil {
		return fmt.Errorf("deciding request %s: %w", request.ID, err)
	}
	if status != http.StatusOK && r.Refused != nil {
		r.Refused(request, status, string(body))
	}
	return nil
}

func (r *Reviewer) call(ctx context.Context, client *http.Client, method, url string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if r.Token != nil {
		request.Header.Set("Authorization", "Bearer "+r.Token())
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return answer.StatusCode, raw, err
}
