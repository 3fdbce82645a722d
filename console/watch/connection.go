package watch

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/internal/humanize"
)

type connection struct {
	connected bool
	lostAt    time.Time // when it was lost; zero before the first connection
	rung      time.Time // when the bell was rung
}

// ringEvery is the least time between two rings of the terminal's bell: calls that come at once ring
// it once.
const ringEvery = 2 * time.Second

// ring rings the terminal's bell for a new request. Those that the reviewer finds at the start of a
// connection are not new.
func (c *connection) ring(now time.Time) tea.Cmd {
	if !c.connected || now.Sub(c.rung) < ringEvery {
		return nil
	}
	c.rung = now
	return tea.Raw("\a")
}

func (c *connection) ready() { c.connected = true }

// lose notes that the connection is lost. Attempts that fail after that do not count.
func (c *connection) lose(now time.Time) {
	if c.connected || c.lostAt.IsZero() {
		c.connected, c.lostAt = false, now
	}
}

// status returns the text of the head about a connection that is missing, and whether
// the list is out of date.
func (c connection) status(now time.Time) (text string, stale bool) {
	switch {
	case c.connected:
		return "", false
	case c.lostAt.IsZero():
		return " · connecting", false
	}
	return fmt.Sprintf(" · DISCONNECTED %s, retrying", humanize.Ago(now.Sub(c.lostAt))), true
}
