package proxy

import (
	"strings"
	"testing"
)

func TestApart_GoesOn(t *testing.T) {
	x := &exchange{}
	next := apart(func(x *exchange) state {
		x.outcome = "changed"
		return (*exchange).end
	})(x)
	if x.outcome != "changed" || next == nil || next(x) != nil {
		t.Errorf("outcome %q, next %v", x.outcome, next)
	}
}

// A fault must end in the exchange's own recover, which fails closed, and not end
// the program.
func TestApart_FaultsAreTheExchanges(t *testing.T) {
	defer func() {
		fault, _ := recover().(string)
		if !strings.HasPrefix(fault, "out of order") || !strings.Contains(fault, "faultyState") {
			t.Errorf("recovered %q, want the fault and where it was", fault)
		}
	}()
	apart(faultyState)(&exchange{})
	t.Error("it went on")
}

func faultyState(*exchange) state { panic("out of order") }
