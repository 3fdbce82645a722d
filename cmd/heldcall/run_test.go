package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// asksModel is an agent: it asks the model once for each of its arguments, which are
// the fields of the request, and prints the answers. Then it tries to read the
// environment of the program that started it.
func asksModel() {
	for _, fields := range os.Args[1:] {
		body := `{"model":"m","messages":[{"role":"user","content":"do it"}],` + fields + `}`
		r, err := http.NewRequest(http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(os.Stdout, resp.Body)
		resp.Body.Close()
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
	fmt.Printf("\nenvironment of heldcall: %d bytes, readable: %t\n", len(environment), err == nil)
	fmt.Println(strings.Join(os.Environ(), "\n"))
}

const bashTool = `"tools":[{"type":"function","function":{"name":"bash"}}]`

// modelKey is the key that only heldcall and upstream know.
const modelKey = "sk-ant-real-key-of-the-model"

// lonely is a heldcall that runs asks-model in an empty folder.
type lonely struct {
	t           *testing.T
	folder      string
	environment []string
	out, err    bytes.Buffer
}

// alone prepares `heldcall run`, with what the model answers.
func alone(t *testing.T, script fakemodel.Script) (*lonely, *fakemodel.Server) {
	t.Helper()
	upstream, err := fakemodel.New(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	r := &lonely{t: t, folder: t.TempDir()}
	r.environment = []string{
		"XDG_STATE_HOME=" + filepath.Join(r.folder, "state"), "OPENAI_API_KEY=" + modelKey, "HEADER=Bearer " + modelKey,
		"SLACK=xoxb-secret-of-slack", "OTHER=kept", "HELDCALL_TOKEN=heldcall_REVIEWER", "HELDCALL_TOKEN_FILE=/x", "PATH=" + os.Getenv("PATH"), noExitSleep,
	}
	r.write("heldcall.yaml", fmt.Sprintf(`
proxy: {listen: "127.0.0.1:0", upstreams: [{prefix: /v1, url: %q, api_key: "${OPENAI_API_KEY}"}], clients: [{key: "${OPENAI_API_KEY}", user: ann}]}
console: {listen: "127.0.0.1:0"}
nats: {listen: ""}
notify: {slack: [{bot_token: "${SLACK}", app_token: xapp-1, channel: C1, api_url: "http://127.0.0.1:1/"}]}
`, upstream.URL()))
	return r, upstream
}

func (r *lonely) write(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, name), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// command is `heldcall run` with flags before the command.
func (r *lonely) command(flags []string, command ...string) *exec.Cmd {
	heldcall := exec.Command("heldcall", append(append([]string{"run", "--config", "heldcall.yaml"}, flags...), append([]string{"--"}, command...)...)...)
	heldcall.Dir, heldcall.Env, heldcall.Stdout, heldcall.Stderr = r.folder, r.environment, &r.out, &r.err
	return heldcall
}

// Finding 7 (control side) and issue 12, numbers 34 and 35: the command gets neither
// the model's key nor a token, cannot read heldcall's environment, and its calls are
// reported in lines with a link.
func TestRunKeepsKeysAndReportsCalls(t *testing.T) {
	t.Parallel()
	r, upstream := alone(t, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"ls sesame"}`}}}.Reply(r)
	})
	r.write("policy.yaml", "rules: [{ask: [bash]}]")
	run := r.command([]string{"--log-file", "log", "--token-file", "token"}, "asks-model", bashTool)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	requests, id := r.approveOne()
	if err := run.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, r.err.String())
	}
	if who := requests.Principal.User; who != "ann" {
		t.Errorf("the stand-in is the key of %q", who)
	}
	if got := upstream.Requests()[0].Get("Authorization"); got != "Bearer "+modelKey {
		t.Errorf("upstream got %q", got)
	}
	standIn := regexp.MustCompile(`(?m)^OPENAI_API_KEY=(sk-ant-heldcall-[0-9a-f]{32})$`).FindStringSubmatch(r.out.String())
	if standIn == nil || !strings.Contains(r.out.String(), "\nHEADER=Bearer "+standIn[1]+"\n") || !strings.Contains(r.out.String(), "\nOTHER=kept\n") {
		t.Errorf("the command's environment is\n%s", r.out.String())
	}
	for _, secret := range []string{modelKey, "HELDCALL_TOKEN", "xoxb-secret-of-slack"} {
		if strings.Contains(r.out.String(), secret) {
			t.Errorf("the command finds %q:\n%s", secret, r.out.String())
		}
	}
	token := strings.TrimSpace(r.read("token"))
	inbox := regexp.MustCompile(`(?m)^heldcall: approve calls at (http://127.0.0.1:\d+)/#token=` + token + `$`).FindStringSubmatch(r.err.String())
	if inbox == nil {
		t.Fatalf("the inbox and its token are not named:\n%s", r.err.String())
	}
	short := approvals.ShortID(id)
	for _, line := range []string{`(?m)^held  bash  ls sesame   [45]m\d\ds left   heldcall approve ` + short + `$`, `(?m)^approved  bash  by local   heldcall show ` + short + `$`} {
		if len(regexp.MustCompile(line).FindAllString(r.err.String(), -1)) != 1 {
			t.Errorf("%q is not in\n%s", line, r.err.String())
		}
	}
	log := r.read("log")
	if !regexp.MustCompile(`msg="call held" tool=bash rule=\S+ risk=\w+ request=` + id).MatchString(log) {
		t.Errorf("the log does not have the call:\n%s", log)
	}
	for _, file := range []string{"heldcall.yaml", "policy.yaml"} {
		if !strings.Contains(log, "level=WARN msg=\"a file of heldcall is in the folder of the command") || !strings.Contains(log, "file="+filepath.Join(r.folder, file)+"\n") {
			t.Errorf("no warning of %s:\n%s", file, log)
		}
	}
	if !strings.Contains(r.err.String(), "(docs/hardening.md): "+filepath.Join(r.folder, "policy.yaml")+"\n") {
		t.Errorf("the terminal does not show the warning:\n%s", r.err.String())
	}
	if strings.Contains(log, "sesame") || strings.Contains(log, token) {
		t.Errorf("arguments or the token are in\n%s", log)
	}
	if _, err := os.Stat(filepath.Join(r.folder, "data")); err == nil {
		t.Error("the state is in the folder of the command")
	}
}

// Finding P2: `heldcall run` replaced the address that the user had set for agents, and sent key and
// prompts to the default host. A run within the command of a run has its upstream, and its key.
func TestRunAdoptsTheAddressOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"one run":            {"asks-model", bashTool},
		"a run within a run": {"heldcall", "run", "--config", "heldcall.yaml", "--", "asks-model", bashTool},
		"alone within a run": {"heldcall", "run", "--config", "heldcall.yaml", "--separate", "--", "asks-model", bashTool},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, upstream := alone(t, func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Answer{Text: "Adopted."}.Reply(r) })
			r.write("heldcall.yaml", "proxy: {listen: \"127.0.0.1:0\"}\nconsole: {listen: \"127.0.0.1:0\"}\nnats: {listen: \"\"}\n")
			r.environment = append(r.environment, "OPENAI_BASE_URL="+upstream.URL()+"/")
			if err := r.command(nil, command...).Run(); err != nil {
				t.Fatalf("%v\n%s", err, r.err.String())
			}
			if !strings.Contains(r.out.String(), "Adopted.") || !strings.Contains(r.err.String(), "heldcall: model: "+upstream.URL()+", from OPENAI_BASE_URL\n") {
				t.Errorf("the model at %s is not adopted:\n%s\n%s", upstream.URL(), r.out.String(), r.err.String())
			}
			asked := 0
			for _, request := range upstream.Requests() {
				switch {
				case request.Method == http.MethodGet && request.Get("Authorization") == "": // whether it is a heldcall
				case name != "alone within a run" && request.Get("Authorization") != "Bearer "+modelKey:
					t.Errorf("the model got the key %q", request.Get("Authorization"))
				default:
					asked++
				}
			}
			if asked != 1 {
				t.Errorf("the model was asked %d times", asked)
			}
		})
	}
}

// The key of the model is for requests with its stand-in: any program on the machine finds the port.
func TestKeyGoesWithTheStandInOnly(t *testing.T) {
	t.Parallel()
	r, upstream := alone(t, func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Answer{Text: "Hello."}.Reply(r) })
	script := `asks-model '` + bashTool + `' >/dev/null; OPENAI_API_KEY=sk-other asks-model '` + bashTool + `' >/dev/null`
	if err := r.command(nil, "sh", "-c", script).Run(); err != nil {
		t.Fatalf("%v\n%s", err, r.err.String())
	}
	var got []string
	for _, request := range upstream.Requests() {
		got = append(got, request.Get("Authorization"))
	}
	if want := []string{"Bearer " + modelKey, "Bearer sk-other"}; !slices.Equal(got, want) {
		t.Errorf("the model got the keys %q, want %q", got, want)
	}
}

func (r *lonely) read(name string) string {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(content)
}

// approveOne waits for a request and approves it with the token of the run, as the
// log names the console.
func (r *lonely) approveOne() (approvals.Request, string) {
	r.t.Helper()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		log, err := os.ReadFile(filepath.Join(r.folder, "log"))
		found := regexp.MustCompile(`console=(http://\S+)`).FindSubmatch(log)
		if err != nil || found == nil {
			continue
		}
		anybody, err := client.New(string(found[1]))
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := anybody.Requests(r.t.Context(), approvals.Filter{}); err == nil {
			r.t.Fatal("anybody reads the requests")
		}
		console := anybody.WithToken(strings.TrimSpace(r.read("token")))
		page, err := console.Requests(r.t.Context(), approvals.Filter{Status: approvals.StatusPending})
		if err != nil || len(page.Items) == 0 {
			continue
		}
		id := page.Items[0].ID
		if _, err := console.Decide(r.t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove}); err != nil {
			r.t.Fatal(err)
		}
		return page.Items[0], id
	}
	r.t.Fatal("nothing was asked")
	return approvals.Request{}, ""
}

// Finding 7 (control side): tools of the command do not write to the policy, whatever
// that allows.
func TestRunDeniesWritesToItsFiles(t *testing.T) {
	t.Parallel()
	write := fakemodel.Call{ID: "call_1", Name: "Write", Arguments: `{"file_path":"policy.yaml","content":"default: allow"}`}
	r, upstream := alone(t, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{write}}.Reply(r)
	})
	r.write("policy.yaml", "rules: [{allow: [Write]}]")
	if err := r.command(nil, "asks-model", `"tools":[{"type":"function","function":{"name":"Write"}}]`).Run(); err != nil {
		t.Fatalf("%v\n%s", err, r.err.String())
	}
	if !strings.Contains(r.out.String(), "Understood.") || strings.Contains(r.out.String(), "call_1") || len(upstream.Requests()) != 2 {
		t.Errorf("the agent got %s", r.out.String())
	}
}

// Finding 2.5 (frameworks): `heldcall run -- aider` ended without a hint that nothing
// was held.
func TestRunReportsThatNoToolsWereOffered(t *testing.T) {
	t.Parallel()
	r, _ := alone(t, func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Answer{Text: "rm -rf /"}.Reply(r) })
	if err := r.command(nil, "asks-model", `"n":1`, `"tools":[]`).Run(); err != nil {
		t.Fatalf("%v\n%s", err, r.err.String())
	}
	if !strings.Contains(r.err.String(), "heldcall: 2 requests, none offered tools: nothing could be held.") {
		t.Errorf("not reported:\n%s", r.err.String())
	}
	r.err.Reset()
	if err := r.command(nil, "asks-model", bashTool, `"tools":[]`).Run(); err != nil || strings.Contains(r.err.String(), "none offered tools") {
		t.Errorf("%v:\n%s", err, r.err.String())
	}
}

// Issue 12, number 35: the state of earlier versions stays in use, and no other folder
// of that name.
func TestStateOfARun(t *testing.T) {
	t.Parallel()
	r, _ := alone(t, func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Answer{Text: "Fine."}.Reply(r) })
	lookup := func(string) (string, bool) { return filepath.Join(r.folder, "state"), true }
	state, own := launch.StateFolder(lookup, filepath.Join(r.folder, "heldcall.yaml")), launch.StateFolder(lookup, r.folder)
	play := func(flags ...string) string {
		t.Helper()
		r.err.Reset()
		if err := r.command(flags, "true").Run(); err != nil {
			t.Fatalf("%v\n%s", err, r.err.String())
		}
		return r.err.String()
	}
	data := filepath.Join(r.folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := play(); !strings.Contains(got, "data="+state) || strings.Contains(got, "as before") {
		t.Errorf("a folder data that is not heldcall's is in use:\n%s", got)
	}
	if got := play("--separate"); !strings.Contains(got, "data="+own) {
		t.Errorf("the state of a separate run is not that of its folder:\n%s", got)
	}
	r.write("data/heldcall.lock", "")
	if got := play(); !strings.Contains(got, "data="+data) || !strings.Contains(got, "heldcall: the state is in data, as before; without that folder it would be in "+own+"\n") {
		t.Errorf("the state of before is not in use:\n%s", got)
	}
}
