// Package ui tests the web inbox as people use it. Its tests are run by make ui,
// with the build tag ui: they install the pins of npm into the user's cache
// folder, build heldcall, start a scripted model and an OpenID Connect provider, and have Node run the tests of
// npm/unit on the inbox's pure functions and those of npm/flows in Chromium, each
// file against a heldcall of its own.
package ui
