//go:build clients

package examples_test

import (
	"path/filepath"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

func TestBotJS(t *testing.T) {
	testBot(t, "node", filepath.Join(testdeps.Scripts(t, "bot-js"), "bot.mjs"))
}

func TestBotPython(t *testing.T) {
	testBot(t, testdeps.Python(t, "bot-python"), filepath.Join("bot-python", "bot.py"))
}
