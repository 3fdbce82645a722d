// Package examples_test runs the examples with a whole heldcall: a call is
// held, the bot decides over NATS, and the agent continues.
package examples_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/demo"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

// patience bounds all that must happen in a test, and nothing is timed with it.
const patience = 5 * time.Minute

const note = "Nothing is removed here. Move it to trash/ instead."

func TestBotGo(t *testing.T) {
	testBot(t, testdeps.Program(t, ".", "./bot-go"))
}

// testBot lets a bot answer for one task: it approves what only reads, denies
// what removes, and leaves the rest to people. The first call waits already when
// the bot starts.
func testBot(t *testing.T, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	withoutNATS(ctx, t, program, args...)
	stage := openStage(ctx, t)
	agent, err := stage.NewAgent("bot", func(demo.Line) {})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	asked := make(chan error, 1)
	go func() { asked <- agent.Ask(ctx, demo.TaskTidy) }()
	awaitRequest(ctx, t, stage, "bot", 0)
	bot := startBot(ctx, t, stage.NATS, program, args...)
	if err := <-asked; err != nil {
		t.Fatalf("%v\nthe bot: %s", err, bot)
	}
	page, err := stage.Client.Requests(ctx, approvals.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, r := range page.Items {
		d, _ := r.FinalDecision()
		got[r.ToolName] = strings.Join([]string{string(r.Status), d.ReviewerID, d.Channel, d.Note}, "|")
	}
	want := map[string]string{"list_files": "approved|local|nats|", "run_command": "denied|local|nats|" + note}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\nthe bot: %s", diff, bot)
	}
	told, err := stage.LastConversation()
	if err != nil {
		t.Fatal(err)
	}
	if last := told[len(told)-1]; last.Role != "tool" || !strings.Contains(last.Content, note) {
		t.Errorf("the model was told %+v", last)
	}
	if files := agent.Files(); len(files) != 6 {
		t.Errorf("the agent has removed something: %q", files)
	}
	waitsForPeople(ctx, t, stage, bot)
}

// waitsForPeople makes the model write a file, which the bot does not decide.
func waitsForPeople(ctx context.Context, t *testing.T, stage *demo.Stage, bot *output) {
	t.Helper()
	agent, err := stage.NewAgent("people", func(demo.Line) {})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	asking, leave := context.WithCancel(ctx)
	asked := make(chan error, 1)
	go func() { asked <- agent.Ask(asking, demo.TaskBackUp) }()
	bot.await(ctx, t, "waits for people")
	page, err := stage.Client.Requests(ctx, approvals.Filter{Status: approvals.StatusPending})
	if err != nil || len(page.Items) != 1 || page.Items[0].ToolName != "run_command" {
		t.Errorf("pending: %+v, %v", page.Items, err)
	}
	leave()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("the held call ended without a decision: %v", err)
	}
}

// withoutNATS starts a bot where there is no server.
func withoutNATS(ctx context.Context, t *testing.T, program string, args ...string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "nats://" + ln.Addr().String()
	ln.Close()
	bot := exec.CommandContext(ctx, program, args...)
	bot.Env = append(os.Environ(), "NATS_URL="+url)
	out, err := bot.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no NATS at "+url) || strings.Count(string(out), "\n") > 5 {
		t.Errorf("without a server the bot ends with %v: %s", err, out)
	}
}

func openStage(ctx context.Context, t *testing.T) *demo.Stage {
	t.Helper()
	stage, err := demo.Open(ctx, demo.Options{Config: loopback(), Policy: "default: ask\n"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	})
	return stage
}

// loopback listens on free ports.
func loopback() app.Config {
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	c.Proxy.Listen, c.Console.Listen, c.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	return c
}

// startBot runs a bot until the test ends, and returns what it prints once it
// is ready.
func startBot(ctx context.Context, t *testing.T, url, program string, args ...string) *output {
	t.Helper()
	out := &output{grown: make(chan struct{})}
	bot := exec.Command(program, args...)
	bot.Stdout, bot.Stderr = out, out
	bot.Env = append(os.Environ(), "NATS_URL="+url)
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bot.Process.Kill() // fails only if it has ended
		_ = bot.Wait()         // killed
	})
	out.await(ctx, t, "ready")
	return out
}

// output is what a bot has printed.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{} // closed and replaced with every write
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.grown)
	o.grown = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) await(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	for {
		o.mu.Lock()
		found, grown := strings.Contains(o.text.String(), text), o.grown
		o.mu.Unlock()
		if found {
			return
		}
		select {
		case <-grown:
		case <-ctx.Done():
			t.Fatalf("the bot does not say %q: %s", text, o)
		}
	}
}
