// Command heldcall holds the tool calls of LLM agents until policy or people
// allow them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	_ "time/tzdata" // hours of routes name time zones, and the image has no files of them

	"github.com/alecthomas/kong"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/completion"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/notify/shoutrrr"
)

const description = `heldcall pauses every tool call that your policy does not already allow or deny, until a person or a bot decides.

Commands that talk to a running heldcall find your 'heldcall run', or the heldcall at the default address. --config FILE (HELDCALL_CONFIG) or --console URL (HELDCALL_CONSOLE) name another one. --token-file FILE (HELDCALL_TOKEN_FILE) or --token TOKEN (HELDCALL_TOKEN) is your token, if the console requires one; other users of the machine can read command lines: prefer the variable.

Exit codes: 0 done; 1 failed; 2 wrong usage; 3 already decided, or no such request; 4 no heldcall answers. 'heldcall run' exits as its command does.

SIGINT and SIGTERM stop 'serve' and 'demo' gracefully; a second one stops them at once. SIGHUP: 'serve' reads its configuration and policies again. 'run' passes signals to its command, and ends when the command and all attached agents have ended.`

// program is the command line.
type program struct {
	Serve       serveCommand       `cmd:"" group:"Run agents:" help:"Run the proxy and the console until interrupted."`
	Run         runCommand         `cmd:"" group:"Run agents:" help:"Run a command with heldcall in front of its model."`
	Demo        demoCommand        `cmd:"" group:"Run agents:" help:"Show how it works, with a scripted model and a small agent."`
	Watch       watchCommand       `cmd:"" group:"Decide:" help:"Review pending requests interactively."`
	Open        openCommand        `cmd:"" group:"Decide:" help:"Open the inbox in the browser."`
	Requests    requestsCommand    `cmd:"" group:"Decide:" help:"List requests, or show one."`
	Show        showCommand        `cmd:"" group:"Decide:" help:"Show a request in full."`
	Approve     approveCommand     `cmd:"" group:"Decide:" help:"Approve requests."`
	Deny        denyCommand        `cmd:"" group:"Decide:" help:"Deny requests, with a reason for the model."`
	Answer      answerCommand      `cmd:"" group:"Decide:" help:"Answer a question of a model, or a held call in words."`
	Modify      modifyCommand      `cmd:"" group:"Decide:" help:"Edit the arguments of a call, then release it."`
	Runs        runsCommand        `cmd:"" group:"Steer agents:" help:"List, pause, resume and abort runs of agents."`
	Stop        stopCommand        `cmd:"" group:"Steer agents:" help:"Abort all runs of an agent, a user or a tenant, until they are resumed."`
	Grants      grantsCommand      `cmd:"" group:"Steer agents:" help:"List and write grants: decisions that are remembered."`
	Secrets     secretsCommand     `cmd:"" group:"Steer agents:" help:"List, store and delete secrets that agents use without reading them."`
	Delegations delegationsCommand `cmd:"" group:"Steer agents:" help:"Let another reviewer decide in your place, or list who does."`
	Policy      policyCommand      `cmd:"" group:"Set up:" help:"Manage policy files."`
	Hook        hookCommand        `cmd:"" group:"Set up:" help:"Answer a client's own hook before it runs a call."`
	Config      configCommand      `cmd:"" group:"Set up:" help:"Manage configuration files."`
	Token       tokenCommand       `cmd:"" group:"Set up:" help:"Create reviewer tokens."`
	NATS        natsCommand        `cmd:"" group:"Set up:" name:"nats" help:"Manage an external NATS server."`
	Completion  completionCommand  `cmd:"" group:"Set up:" help:"Write a script with which a shell completes heldcall's commands and flags."`
	Audit       auditCommand       `cmd:"" group:"Operate:" help:"Read, verify and export the audit log."`
	Health      healthCommand      `cmd:"" group:"Operate:" help:"Check whether a running heldcall can hold and release calls."`
	Doctor      doctorCommand      `cmd:"" group:"Operate:" help:"Connect to each upstream, and report what fails and what to do."`
	Version     versionCommand     `cmd:"" group:"Operate:" help:"Print the version."`
}

// streams are the input and outputs of a command. Text that is not heldcall's own is
// escaped first, by textview or sanitize.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	err := hideMemory()
	if code, isHook := askHook(os.Args[1:], &streams{os.Stdin, os.Stdout, os.Stderr}); isHook {
		os.Exit(code)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "heldcall: cannot hide its memory from other programs: %s\n", err)
	}
	if shoutrrr.IsChild(os.Args) { // heldcall started it, for one message of a channel
		os.Exit(shoutrrr.RunChild(os.Stdin, os.Stdout))
	}
	ctx, hup := untilSignal()
	os.Exit(execute(ctx, os.Args[1:], &streams{os.Stdin, os.Stdout, os.Stderr}, hup))
}

// execute runs one command and returns its exit code.
func execute(ctx context.Context, args []string, s *streams, hup *hangups) int {
	parsed, err := newParser(ctx, s, hup).Parse(args)
	if err != nil {
		err = &usageError{err}
	} else {
		err = parsed.Run()
	}
	isSaid := errors.As(err, new(*launch.ExitError)) || errors.As(err, new(*loggedError))
	if err != nil && !isSaid {
		fmt.Fprintf(s.err, "heldcall: %s\n", sanitize.Lines(err.Error()))
		if failed := (*kong.ParseError)(nil); errors.As(err, &failed) {
			fmt.Fprintln(s.err, "Run `heldcall --help`, or `heldcall COMMAND --help`.")
		}
	}
	return exitCode(err)
}

// newParser returns the parser of command lines.
func newParser(ctx context.Context, s *streams, hup *hangups) *kong.Kong {
	parser, err := kong.New(&program{},
		kong.Name("heldcall"),
		kong.Description(description),
		kong.Writers(s.out, s.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Help(printHelp),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s, hup),
		kong.Vars{"id": "ID, or a unique prefix or suffix (at least 4 characters), such as the 6 that lists show", "shells": completion.Shells},
	)
	if err != nil {
		panic("internal error: the command line is not well formed: " + err.Error())
	}
	return parser
}
