package launch

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// A port that was free at the look, and is taken at the start, is looked for again.
func TestPortsThatAreTakenMeanwhile(t *testing.T) {
	addresses, err := fakemodel.FreeAddresses(3)
	if err != nil {
		t.Fatal(err)
	}
	var config app.Config
	config.Proxy.Listen, config.Console.Listen, config.NATS.Listen = addresses[0], addresses[1], addresses[2]
	tries := 0
	started, notes, err := OnFreePorts(config, func(config app.Config) (app.Config, error) {
		if tries++; tries == 1 {
			neighbour, err := net.Listen("tcp", config.Console.Listen)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { neighbour.Close() })
		}
		ln, err := net.Listen("tcp", config.Console.Listen)
		if err == nil {
			ln.Close()
		}
		return config, err
	})
	if err != nil || tries != 2 || started.Console.Listen != "127.0.0.1:0" || started.Proxy.Listen != addresses[0] {
		t.Errorf("after %d tries on %s and %s: %v", tries, started.Proxy.Listen, started.Console.Listen, err)
	}
	if strings.Count(notes, "is taken") != 1 || !strings.Contains(notes, "console.listen "+addresses[1]) {
		t.Errorf("the notes are %q", notes)
	}
	if _, _, err := OnFreePorts(config, func(app.Config) (int, error) { return 0, syscall.EADDRINUSE }); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("what always fails: %v", err)
	}
}
