// Package agents tests heldcall with command-line agents as people use them. Its
// tests are run by make agents, with the build tag agents: they install the
// pinned agents of npm into the user's cache folder, start each with heldcall run
// in a folder of its own, and let a scripted model ask for commands, some of which
// a scripted reviewer denies. In another task the model asks people questions, uses a
// secret and reads judged results.
package agents
