package demo

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// fasthttp keeps a clock for ever and ends its workers late.
// The object store of nats.go leaks a goroutine that waits for ever on a nil channel if that goroutine
// first runs after the write that started it has ended (newAsyncReply, v1.55.0).
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

func open(t *testing.T, policy string) *Stage {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	config := app.DefaultConfig(func(string) (string, bool) { return "", false })
	config.Proxy.Listen, config.Console.Listen, config.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	stage, err := Open(t.Context(), Options{Config: config, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(stage.Folder); !os.IsNotExist(err) {
			t.Errorf("the folder of the demo is left: %v", err)
		}
	})
	return stage
}

func TestOpenThatFailsLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder) // on Windows
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	config := app.DefaultConfig(func(string) (string, bool) { return "", false })
	for _, listen := range []*string{&config.Proxy.Listen, &config.Console.Listen} {
		config.Proxy.Listen, config.NATS.Listen, config.Console.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
		*listen = taken.Addr().String()
		if stage, err := Open(t.Context(), Options{Config: config}); err == nil || stage != nil {
			t.Fatalf("opened %v, %v", stage, err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// recorder keeps the lines of the transcript.
type recorder struct {
	mu    sync.Mutex
	lines []Line
}

func (r *recorder) tell(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, l)
}

func (r *recorder) with(who Speaker) (texts []string) {
	for _, l := range r.lines {
		if l.Who == who {
			texts = append(texts, l.Text)
		}
	}
	return texts
}

func TestPlayAll(t *testing.T) {
	stage := open(t, "")
	var told recorder
	if err := stage.PlayAll(t.Context(), told.tell); err != nil {
		t.Error(err)
	}
	if failed := told.with(Failed); failed != nil {
		t.Errorf("%q", failed)
	}
	if passed, want := len(told.with(Passed)), 9*len(acts())+1; passed != want {
		t.Errorf("%d checks passed, want %d", passed, want)
	}
}

// The demo notices a heldcall that does not hold, and one that denies too much.
func TestPlayAllSeesDifferences(t *testing.T) {
	for policy, want := range map[string]string{
		"default: allow\n": "these files are left",
		"default: deny\n":  "the agent got and ran these calls and no other",
	} {
		t.Run(strings.TrimSpace(policy), func(t *testing.T) {
			stage := open(t, policy)
			stage.patience = 100 * time.Millisecond
			var told recorder
			if err := stage.PlayAll(t.Context(), told.tell); err == nil {
				t.Error("nothing differs")
			}
			if !slices.ContainsFunc(told.with(Failed), func(text string) bool { return strings.HasPrefix(text, want) }) {
				t.Errorf("the transcript lacks %q: %q", want, told.with(Failed))
			}
		})
	}
}

// Of a message that one side saw in parts, or with something before it, only
// what the other side did not see has a star.
func TestWhoSawTellsLinesApart(t *testing.T) {
	agent := []fakemodel.Message{
		{Role: "assistant", Content: "One.\nTwo.\n"},
		{Role: "tool", Content: "ran rm"},
	}
	model := []fakemodel.Message{
		{Role: "assistant", Content: "One.\n"},
		{Role: "tool", Content: "refused\nfor a reason"},
		{Role: "assistant", Content: "Two.\n"},
		{Role: "tool", Content: "edited\nran rm"},
	}
	want := []Line{
		{"  assistant", "One."},
		{"* tool", "refused\nfor a reason"},
		{"  assistant", "Two."},
		{"* tool", "edited"},
		{"  tool", "ran rm"},
	}
	if got := sawOf(model, agent); !slices.Equal(got, want) {
		t.Errorf("the model saw %q", got)
	}
	want = []Line{{"  assistant", "One.\nTwo."}, {"  tool", "ran rm"}}
	if got := sawOf(agent, model); !slices.Equal(got, want) {
		t.Errorf("the agent saw %q", got)
	}
}

func TestToolsStayInTheirFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(filepath.Dir(outside), "project")
	tools, err := newToolbox(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer tools.root.Close()
	before := tools.files()
	for _, call := range [][2]string{
		{"read_file", `{"path":"../outside.txt"}`},
		{"read_file", `{"path":"` + outside + `"}`},
		{"write_file", `{"path":"../outside.txt","content":"x"}`},
		{"run_command", `{"command":"rm ../outside.txt"}`},
		{"run_command", `{"command":"rm -r ` + outside + `"}`},
		{"run_command", `{"command":"cp ../outside.txt here.txt"}`},
		{"run_command", `{"command":"cp notes.txt ../outside.txt"}`},
		{"run_command", `{"command":"upload ../outside.txt x"}`},
		{"run_command", `{"command":"sh -c ls"}`},
		{"run_command", `{"command":""}`},
		{"unknown", `{}`},
		{"read_file", `not JSON`},
	} {
		if result := tools.run(call[0], call[1]); !strings.HasPrefix(result, "failed: ") {
			t.Errorf("%s %s: %q", call[0], call[1], result)
		}
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "mine" {
		t.Errorf("the file outside holds %q, %v", content, err)
	}
	if after := tools.files(); !slices.Equal(before, after) {
		t.Errorf("the project holds %q, before %q", after, before)
	}
	if result := tools.run("run_command", `{"command":"rm -rf cache"}`); result != "ran rm -rf cache" || len(tools.files()) != len(before)-2 {
		t.Errorf("%q leaves %q", result, tools.files())
	}
}
