package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/sanitize"
)

type openCommand struct{ connection }

// openWithin bounds the wait for the program that opens the browser. Some of these programs run as long as the browser.
const openWithin = 2 * time.Second

// Run opens the inbox in the browser, and prints its address. The address has no token: other programs read
// command lines, and browsers keep addresses.
func (c *openCommand) Run(ctx context.Context, s *streams) error {
	inbox, err := c.inbox(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.out, sanitize.Line(inbox)); err != nil {
		return err
	}
	if err := browse(inbox); err != nil {
		fmt.Fprintf(s.err, "heldcall: no browser was opened (%s); open the address yourself\n", sanitize.Line(err.Error()))
	}
	return nil
}

// browse opens an address in the browser of the user, without the variables of reviewers in its environment.
func browse(address string) error {
	argv := map[string][]string{
		"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"},
	}[runtime.GOOS]
	if argv == nil {
		argv = []string{"xdg-open"}
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	opener := exec.Command(path, append(argv[1:], address)...)
	opener.Env = launch.WithoutReviewers(os.Environ())
	if err := opener.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- opener.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(openWithin):
		return nil // it has started the browser
	}
}
