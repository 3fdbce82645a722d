package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/intercept/hooks"
	"github.com/heldcall/heldcall/internal/privatefile"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// hookCommand has a command for each client, which the client runs as its hook, and those that set it up.
type hookCommand struct {
	ClaudeCode hookClient `cmd:"" name:"claude-code" help:"Answer the hook PreToolUse of Claude Code."`
	Codex      hookClient `cmd:"" help:"Answer the hook PreToolUse of Codex."`
	Copilot    hookClient `cmd:"" help:"Answer the hook preToolUse of Copilot CLI."`
	Cursor     hookClient `cmd:"" help:"Answer the hook preToolUse of Cursor."`
	Gemini     hookClient `cmd:"" help:"Answer the hook BeforeTool of Gemini CLI."`

	Install hookInstall `cmd:"" help:"Add the hook to a client's settings, after showing what changes."`
	Status  hookStatus  `cmd:"" help:"Show in which settings the hook is."`
	Remove  hookRemove  `cmd:"" help:"Remove the hook from a client's settings, after showing what changes."`
}

// hookClient are the flags of a hook.
type hookClient struct {
	URL     string        `placeholder:"URL" env:"HELDCALL_URL" help:"Address of heldcall for agents, such as http://127.0.0.1:4141. Without it: that of the 'heldcall run' that serves this folder."`
	KeyFile string        `placeholder:"FILE" help:"File with the agent's key, of a client in proxy.clients, which only you can read. HELDCALL_KEY has the key itself."`
	Running bool          `help:"Ask only the 'heldcall run' that serves this folder: HELDCALL_URL and HELDCALL_KEY do not count."`
	Timeout time.Duration `placeholder:"TIME" help:"When the call is denied if nobody has decided, such as 50s: less than the client's own time-out. Default: 10 s less than that of a client that is not configured: 590s for Claude Code and Codex, 50s for Gemini CLI and Cursor, 20s for Copilot CLI."`
}

// Run is called where the command line is not that of a client: see [askHook].
func (*hookClient) Run() error { return usagef("run it as the hook of a client: heldcall hook CLIENT") }

// Help is shown below the flags.
func (hookClient) Help() string {
	return "The client runs this command before each call of a tool. Whatever goes wrong, it ends in time with the client's own denial. HELDCALL_URL counts only with a key that the server proves to know."
}

// askHook answers the hook of a client if args are those of its command. Unlike other commands it has no error: a client
// runs the call after many of them, so whatever happens it ends with the client's denial, and before the client's time-out.
func askHook(args []string, s *streams) (code int, isHook bool) {
	if len(args) < 2 || args[0] != "hook" {
		return 0, false
	}
	form := hooks.Of(args[1])
	if form == nil || (len(args) > 2 && (args[2] == "--help" || args[2] == "-h")) {
		return 0, false
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE) // a write to a closed pipe is an error, and not the end
	defer signal.Stop(pipes)
	q := &hookQuestion{form: form, timeout: timeoutIn(args, form), began: time.Now(), lookup: os.LookupEnv}
	return q.end(q.answer(args, s, signals), s), true
}

// timeoutIn is the time-out that the arguments of a hook set, else the client's.
func timeoutIn(args []string, form *hooks.Form) time.Duration {
	for i, arg := range args {
		value, ok := strings.CutPrefix(arg, "--timeout=")
		if arg == "--timeout" && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if timeout, err := time.ParseDuration(value); ok && err == nil && timeout > 0 {
			return timeout
		}
	}
	return form.Timeout()
}

// hookQuestion is one question of a hook.
type hookQuestion struct {
	form    *hooks.Form
	timeout time.Duration
	began   time.Time
	lookup  func(string) (string, bool)
}

// answered is the end of a question.
type answered struct {
	event  *hooks.Event // nil: not read
	answer hooks.Answer
}

// answer returns the output for the client: of heldcall's answer, or a denial if there is none in time.
func (q *hookQuestion) answer(args []string, s *streams, signals <-chan os.Signal) hooks.Output {
	ctx, cancel := context.WithTimeout(context.Background(), q.timeout)
	defer cancel()
	ended := make(chan answered, 1)
	go func() { // it may block for good, and ends with the process
		var end answered
		defer func() {
			if fault := recover(); fault != nil {
				end = answered{answer: hooks.Answer{Reason: "heldcall's hook has failed: internal error. The call was not run."}}
			}
			ended <- end
		}()
		end = q.ask(ctx, args, s)
	}()
	denied := func(reason string) hooks.Output { return q.form.Output(nil, hooks.Answer{Reason: reason}) }
	select {
	case end := <-ended:
		return q.render(end)
	case <-ctx.Done():
		return denied(fmt.Sprintf("Not decided yet: heldcall did not answer within %v. The call was not run; try it again later with exactly the same arguments.", q.timeout))
	case sig := <-signals:
		return denied(fmt.Sprintf("heldcall's hook was stopped (%v). The call was not run.", sig))
	}
}

// render returns the output for an answer.
func (q *hookQuestion) render(end answered) (o hooks.Output) {
	defer func() {
		if fault := recover(); fault != nil {
			o = hooks.Output{Stderr: []byte("heldcall's hook has failed: internal error. The call was not run.\n"), Exit: blockedExit}
		}
	}()
	return q.form.Output(end.event, end.answer)
}

// writeWithin is how long the client may take to read the output.
const writeWithin = 5 * time.Second

// end writes the output, and returns the exit code. One that cannot be written blocks the call.
func (q *hookQuestion) end(o hooks.Output, s *streams) int {
	written := make(chan error, 1)
	go func() { // it may block for good, and ends with the process
		_, err := s.out.Write(o.Stdout)
		_, failed := s.err.Write(o.Stderr)
		written <- errors.Join(err, failed)
	}()
	select {
	case err := <-written:
		if err == nil {
			return o.Exit
		}
		fmt.Fprintln(s.err, "heldcall's hook cannot write its answer. The call was not run.")
	case <-time.After(writeWithin):
	}
	return blockedExit
}

// blockedExit is the exit code that blocks the call with each client, if there is a text on standard error or none on
// standard output.
const blockedExit = 2

// ask asks heldcall. A failure is a denial.
func (q *hookQuestion) ask(ctx context.Context, args []string, s *streams) answered {
	event, answer, err := q.try(ctx, args, s)
	if err != nil {
		reason := fmt.Sprintf("heldcall's hook could not ask heldcall, so the call was not run: %s.", sanitize.Line(err.Error()))
		return answered{event: event, answer: hooks.Answer{Reason: reason}}
	}
	return answered{event, answer}
}

func (q *hookQuestion) try(ctx context.Context, args []string, s *streams) (*hooks.Event, hooks.Answer, error) {
	flags, err := hookFlags(args)
	if err != nil {
		return nil, hooks.Answer{}, err
	}
	body, err := io.ReadAll(io.LimitReader(s.in, hooks.MaxBody+1))
	if err != nil {
		return nil, hooks.Answer{}, fmt.Errorf("read the hook's input: %w", err)
	}
	event, err := q.form.Read(body)
	if err != nil {
		return nil, hooks.Answer{}, err
	}
	server, err := flags.server(ctx, q.lookup)
	if err != nil {
		return event, hooks.Answer{}, err
	}
	answer, err := server.ask(ctx, q.form, body, q.began.Add(q.timeout))
	return event, answer, err
}

// hookFlags parses the command line of a hook, by a parser of nothing else.
func hookFlags(args []string) (*hookClient, error) {
	var only struct {
		Hook hookCommand `cmd:""`
	}
	parser, err := kong.New(&only, kong.Name("heldcall"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) { panic("the command line ends the hook") }))
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return nil, err
	}
	flags, ok := parsed.Selected().Target.Addr().Interface().(*hookClient)
	if !ok {
		return nil, errors.New("the command line is not that of a hook")
	}
	if flags.Timeout < 0 {
		return nil, errors.New("--timeout is negative")
	}
	return flags, nil
}

// hookServer is the heldcall that is asked.
type hookServer struct {
	base   string
	digest []byte // SHA-256 of the key, which is never sent; nil: there is none
	client *http.Client
}

// server finds the heldcall to ask. Variables count only together: one that a repository has set may name any server, so
// that has to prove that it knows the key.
func (f *hookClient) server(ctx context.Context, lookup func(string) (string, bool)) (*hookServer, error) {
	base, key, err := f.named(lookup)
	if err != nil {
		return nil, err
	}
	if base == "" {
		if base, err = runOfFolder(ctx, lookup); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the address of heldcall is not one like http://127.0.0.1:4141, without a path")
	}
	server := &hookServer{base: u.Scheme + "://" + u.Host, client: &http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableCompression: true, DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext}, // no proxy of the environment
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if key == "" {
		return server, nil
	}
	sum := sha256.Sum256([]byte(key))
	server.digest = sum[:]
	return server, server.proves(ctx)
}

// named returns the address and the key of flags and variables, "" for none.
func (f *hookClient) named(lookup func(string) (string, bool)) (base, key string, err error) {
	if f.Running {
		return "", "", nil
	}
	key, _ = lookup("HELDCALL_KEY")
	if f.KeyFile != "" {
		text, err := privatefile.Read(f.KeyFile)
		if err != nil {
			return "", "", fmt.Errorf("read the key: %w", err)
		}
		key = string(text)
	}
	key = strings.TrimSpace(key)
	if f.KeyFile != "" && key == "" {
		return "", "", errors.New("the file of --key-file is empty")
	}
	if variable, _ := lookup("HELDCALL_URL"); variable != "" && f.URL == variable && key == "" {
		return "", "", errors.New("HELDCALL_URL has an address without a key, so nothing proves that heldcall is there: set HELDCALL_KEY or --key-file, or name the address with --url")
	}
	return f.URL, key, nil
}

// runOfFolder returns the address of the `heldcall run` that serves the agent of the current folder.
func runOfFolder(ctx context.Context, lookup func(string) (string, bool)) (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the current folder: %w", err)
	}
	switch ports := discovery.PortsFor(discovery.List(ctx, discovery.Folder(lookup)), folder); len(ports) {
	case 0:
		return "", errors.New("no 'heldcall run' serves this folder: start one there, or name heldcall with --url")
	case 1:
		return "http://" + ports[0], nil
	default:
		return "", errors.New("several agents of 'heldcall run' work in this folder: name one with --url, such as http://" + ports[0])
	}
}

const (
	maxAnswer = 2 * hooks.MaxBody // bytes
	proveFor  = 10 * time.Second  // for the proof of the server, which does not wait for people
	// headStart is how long before the command the server ends the wait for people.
	headStart = 2 * time.Second
)

// proves asks for the proof that the server knows the key, before it gets anything of the call.
func (s *hookServer) proves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, proveFor)
	defer cancel()
	nonce := rand.Text()
	query := url.Values{"key": {hooks.KeyID(s.digest)}, "nonce": {nonce}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+hooks.ProofPath+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	body, err := s.do(request)
	if want := hooks.Proof(s.digest, "server", nonce, request.URL.Host); err == nil && hmac.Equal(bytes.TrimSpace(body), []byte(want)) {
		return nil
	}
	if err == nil {
		err = errors.New("the key must be that of a client in proxy.clients")
	}
	return fmt.Errorf("the server at %s does not prove that it knows the key: %w", s.base, err)
}

// do sends a request and returns the body of its answer.
func (s *hookServer) do(request *http.Request) ([]byte, error) {
	answer, err := s.client.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err // without the address, which has the nonce
	}
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of heldcall: %w", err)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the answer has the status %d", answer.StatusCode)
	case len(body) > maxAnswer:
		return nil, errors.New("the answer is too long")
	}
	return body, nil
}

// ask sends the event of a hook and returns the answer.
func (s *hookServer) ask(ctx context.Context, form *hooks.Form, body []byte, deadline time.Time) (hooks.Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+hooks.Path+form.Client, bytes.NewReader(body))
	if err != nil {
		return hooks.Answer{}, err
	}
	left := time.Until(deadline)
	nonce := rand.Text()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", hooks.MediaType)
	request.Header.Set(hooks.HeaderNonce, nonce)
	seconds := strconv.FormatFloat(max(left-headStart, left/2).Seconds(), 'f', 3, 64)
	request.Header.Set(hooks.HeaderDeadline, seconds)
	if s.digest != nil {
		request.Header.Set(hooks.HeaderKeyID, hooks.KeyID(s.digest))
		request.Header.Set(hooks.HeaderSigned, hooks.Sign(s.digest, form.Client, nonce, seconds, body))
	}
	answer, err := s.do(request)
	if err != nil {
		return hooks.Answer{}, err
	}
	return hooks.Decode(answer, nonce, s.digest)
}
