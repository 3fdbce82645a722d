package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/demo"
	"github.com/heldcall/heldcall/internal/textview"
)

type demoCommand struct {
	Auto bool `help:"Play every way a call can end and every kind of request, unattended, and check what each side saw."`
}

const demoIntroduction = `This is a real heldcall. The model is scripted: it is not an AI, it follows a
few fixed rules. The agent is small but real: it runs the calls that it gets, in
a folder that is removed at the end.

  agents     base_url = %s
  reviewers  %s
  bots       %s
  folder     %s
`

// Run plays until the end or until a signal ends the context.
func (c *demoCommand) Run(ctx context.Context, s *streams) (err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s = &streams{s.in, &audience{s.out, leave}, s.err}
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE) // else it would end the program at once
	defer signal.Stop(unread)
	config := app.DefaultConfig(func(string) (string, bool) { return "", false })
	if c.Auto {
		config.Proxy.Listen, config.Console.Listen, config.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	}
	stage, _, err := launch.OnFreePorts(config, func(config app.Config) (*demo.Stage, error) { // the introduction has the addresses
		return demo.Open(ctx, demo.Options{Config: config, Version: version()})
	})
	if err != nil {
		if ctx.Err() != nil && !c.Auto {
			return nil
		}
		return err
	}
	defer func() {
		if closed := stage.Close(); err == nil {
			err = closed
		}
	}()
	fmt.Fprintf(s.out, demoIntroduction, stage.Proxy, stage.Console, stage.NATS, stage.Folder)
	t := demo.NewPrinter(s.out)
	if c.Auto {
		return stage.PlayAll(ctx, t.Tell)
	}
	return stage.PlayWithPerson(ctx, s.in, t, self())
}

// audience is the reader of the output. When it has gone, as with `| head`, the demo ends
// and cleans up.
type audience struct {
	out   io.Writer
	leave func()
}

func (a *audience) Write(p []byte) (int, error) {
	n, err := a.out.Write(p)
	if err != nil {
		a.leave()
	}
	return n, err
}

// self is how a shell starts this program: by its name where that finds it, else
// by its path, as with `go run`.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return "heldcall"
	}
	if installed, err := exec.LookPath("heldcall"); err == nil && sameFile(installed, path) {
		return "heldcall"
	}
	return textview.ShellWord(path)
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
