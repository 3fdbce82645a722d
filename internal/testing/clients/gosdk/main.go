// Command gosdk runs the jobs of a test with one Go SDK on one API, named by its
// argument: openai-go, openai-go-responses, anthropic-go or go-openai. It reads jobs from
// standard input, runs each at the same time as the others, and prints the accumulated
// answer as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// job is one conversation to have. Mode is "whole" or "stream", on Responses also
// "stored-whole" or "stored-stream".
type job struct {
	Name    string `json:"name"`
	Mode    string `json:"mode"`
	BaseURL string `json:"base_url"`
	Once    bool   `json:"once"` // end after the first answer
	// Attempts is how often one request is sent, beside the retries of the SDK itself; 0 is
	// once. Leave is after how many milliseconds the job gives up its first attempt; 0 is
	// never. Start is how many milliseconds the job waits before it begins.
	Attempts int   `json:"attempts"`
	Leave    int64 `json:"leave_ms"`
	Start    int64 `json:"start_ms"`
}

// retryPause is the time between two attempts. It is longer than heldcall's keepalive in tests,
// within which heldcall notices that an agent has left.
const retryPause = 1500 * time.Millisecond

// repeat sends a request until it is answered, as programs do whose SDK has given up.
func repeat[T any](ctx context.Context, j job, send func(context.Context) (T, error)) (answer T, err error) {
	for n := range max(1, j.Attempts) {
		if n > 0 {
			time.Sleep(retryPause)
		}
		attempt, cancel := ctx, context.CancelFunc(func() {})
		if n == 0 && j.Leave > 0 {
			attempt, cancel = context.WithTimeout(ctx, time.Duration(j.Leave)*time.Millisecond)
		}
		answer, err = send(attempt)
		cancel()
		if err == nil {
			return answer, nil
		}
	}
	return answer, err
}

// call is a tool call as the SDK accumulated it.
type call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (c call) result() string { return "ran " + c.Name + " with " + c.Arguments }

type usage struct {
	Prompt     int64 `json:"prompt"`
	Completion int64 `json:"completion"`
}

// report is what a job accumulated. Next is the text of the answer to the
// results of the calls.
type report struct {
	Job    string `json:"job"`
	Text   string `json:"text"`
	Calls  []call `json:"calls"`
	Finish string `json:"finish"`
	Usage  *usage `json:"usage"`
	Next   string `json:"next"`
	Error  string `json:"error,omitempty"`
}

// parameters are the tools' JSON Schemas by name.
var parameters = map[string]map[string]any{
	"transfer": {
		"type": "object", "required": []string{"job", "amount"}, "additionalProperties": false,
		"properties": map[string]any{"job": map[string]any{"type": "string"}, "amount": map[string]any{"type": "number"}},
	},
	"lookup": {
		"type": "object", "required": []string{"job"}, "additionalProperties": false,
		"properties": map[string]any{"job": map[string]any{"type": "string"}},
	},
}

func main() {
	ask := map[string]func(context.Context, string, job) (report, error){
		"openai-go": askOpenAI, "openai-go-responses": askResponses, "anthropic-go": askAnthropic, "go-openai": askGoOpenAI,
	}[os.Args[1]]
	var work struct {
		Jobs []job `json:"jobs"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&work); err != nil {
		fmt.Fprintln(os.Stderr, "gosdk: reading the jobs:", err)
		os.Exit(1)
	}
	var running sync.WaitGroup
	var writing sync.Mutex
	out := json.NewEncoder(os.Stdout)
	for _, j := range work.Jobs {
		running.Go(func() {
			time.Sleep(time.Duration(j.Start) * time.Millisecond)
			got, err := ask(context.Background(), j.BaseURL, j)
			got.Job = j.Name
			if err != nil {
				got.Error = err.Error()
			}
			writing.Lock()
			defer writing.Unlock()
			if err := out.Encode(got); err != nil {
				fmt.Fprintln(os.Stderr, "gosdk:", err)
			}
		})
	}
	running.Wait()
}
