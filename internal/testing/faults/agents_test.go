//go:build faults

package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
)

// job is a conversation as gosdk takes it.
type job struct {
	Name     string `json:"name"`
	Mode     string `json:"mode"`
	BaseURL  string `json:"base_url"`
	Once     bool   `json:"once"`
	Attempts int    `json:"attempts"`
	Leave    int64  `json:"leave_ms"`
	Start    int64  `json:"start_ms"`
}

// attempts is how often an agent sends a request, beside the two retries of its SDK.
const attempts = 15

// report is what an agent got.
type report struct {
	Job   string `json:"job"`
	Text  string `json:"text"`
	Calls []struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"calls"`
	Finish string `json:"finish"`
	Next   string `json:"next"`
	Error  string `json:"error"`
}

// converse lets the agents of a seed have their conversations, and returns what each got, by
// name. One program runs the agents of one SDK. A conversation that does not end before ctx
// has no report.
func converse(ctx context.Context, gosdk, url string, all []*conversation) (map[string]report, error) {
	jobs := map[string][]job{}
	for _, c := range all {
		j := job{Name: c.name, Mode: c.mode, BaseURL: url, Attempts: attempts, Leave: c.leave.Milliseconds(), Start: c.start.Milliseconds()}
		if c.leave > 0 && !c.returns {
			j.Attempts, j.Once = 1, true
		}
		jobs[c.sdk] = append(jobs[c.sdk], j)
	}
	reports := map[string]report{}
	var mu sync.Mutex
	var failed error
	var running sync.WaitGroup
	for sdk, work := range jobs {
		running.Go(func() {
			got, err := runAgents(ctx, gosdk, sdk, work)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			for _, r := range got {
				reports[r.Job] = r
			}
		})
	}
	running.Wait()
	return reports, failed
}

// runAgents runs the jobs of one SDK and returns the reports that it has printed.
func runAgents(ctx context.Context, gosdk, sdk string, work []job) (reports []report, err error) {
	input, err := json.Marshal(map[string]any{"jobs": work})
	if err != nil {
		return nil, err
	}
	program := exec.CommandContext(ctx, gosdk, sdk)
	var output, diagnostics bytes.Buffer
	program.Stdin, program.Stdout, program.Stderr = bytes.NewReader(input), &output, &diagnostics
	err = program.Run()
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%s: %w: %s", sdk, err, diagnostics.Bytes())
	}
	for line := range bytes.Lines(output.Bytes()) {
		var r report
		if err := json.Unmarshal(line, &r); err != nil {
			return reports, fmt.Errorf("%s printed %q: %w", sdk, line, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}
