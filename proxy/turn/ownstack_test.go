package turn

import (
	"strings"
	"testing"
)

func TestOnOwnStack(t *testing.T) {
	if got := onOwnStack(func() int { return 7 }); got != 7 {
		t.Errorf("it returns %d", got)
	}
}

// A fault must end in the caller's own recover, which fails closed, and not end the program.
func TestOnOwnStackPanics(t *testing.T) {
	defer func() {
		fault, _ := recover().(string)
		if !strings.HasPrefix(fault, "out of order") || !strings.Contains(fault, "faultyStep") {
			t.Errorf("recovered %q, want the fault and where it was", fault)
		}
	}()
	onOwnStack(faultyStep)
	t.Error("it continued")
}

func faultyStep() int { panic("out of order") }
