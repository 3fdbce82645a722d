package turn

import (
	"strings"
	"testing"
)

func TestOnOwnStack_Continues(t *testing.T) {
	ran := false
	next := onOwnStack(func() State {
		ran = true
		return Settling
	})
	if !ran || next != Settling {
		t.Errorf("ran %t, next %v", ran, next)
	}
}

// A fault must end in the turn's own recover, which fails closed, and not end the program.
func TestOnOwnStack_FaultsAreTheTurns(t *testing.T) {
	defer func() {
		fault, _ := recover().(string)
		if !strings.HasPrefix(fault, "out of order") || !strings.Contains(fault, "faultyStep") {
			t.Errorf("recovered %q, want the fault and where it was", fault)
		}
	}()
	onOwnStack(faultyStep)
	t.Error("it continued")
}

func faultyStep() State { panic("out of order") }
