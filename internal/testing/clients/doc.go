// Package clients tests heldcall with the SDKs that agents are written with.
// Its tests are run by make clients, with the build tag clients: they install
// the pinned SDKs of npm, pypi and gosdk into the user's cache folder, let a
// small program of each talk to a scripted model through heldcall, and judge
// what the SDK made of the answers.
package clients
