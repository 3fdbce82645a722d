package nats_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/notify/nats"
)

// A message that makes its handler panic is answered, and so is the next one.
func TestAHandlerThatPanicsFailsAlone(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	service, err := nats.Start(nats.Options{Conn: s.Conn()}) // without a gate, whatever asks it panics
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Stop(); err != nil {
			t.Error(err)
		}
	})
	bot := dial(t, s)
	const id = "01JD0000000000000000000000"
	for range 2 {
		for subject, payload := range map[string]string{
			"heldcall.v1.decide.local." + id: `{"action":"approve"}`,
			"heldcall.v1.signal.local.run":   `{"action":"pause_run"}`,
			"heldcall.v1.svc.requests.get":   `{"id":"` + id + `"}`,
			"heldcall.v1.svc.runs.list":      ``,
		} {
			if reply := ask(t, bot, subject, payload); reply["code"] != nats.CodeInternal {
				t.Errorf("%s: %v", subject, reply)
			}
		}
	}
}
