//go:build clients

package examples_test

import (
	"path/filepath"
	"testing"

	"github.com/heldcall/heldcall/internal/pinned"
)

func TestBotJS(t *testing.T) {
	testBot(t, "node", filepath.Join(pinned.Scripts(t, "bot-js"), "bot.mjs"))
}

func TestBotPython(t *testing.T) {
	testBot(t, pinned.Python(t, "bot-python"), filepath.Join("bot-python", "bot.py"))
}
