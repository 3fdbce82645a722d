package programs

import "slices"

// Class is what a command does, as far as classes.yaml states it. The zero value is unknown, which
// is never harmless.
type Class string

// The classes, from the least to the most severe.
const (
	Unknown   Class = ""
	Read      Class = "read"      // shows files, or facts about them or the machine
	Check     Class = "check"     // runs the project's own code: builds, tests, linters
	Project   Class = "project"   // runs a script or a program of the project
	Format    Class = "format"    // changes files of the project as its formatters and generators do
	Write     Class = "write"     // changes the files that it names, or the repository
	Fetch     Class = "fetch"     // asks another computer
	Install   Class = "install"   // brings code of others
	Run       Class = "run"       // runs other code
	Send      Class = "send"      // may change something on another computer
	Publish   Class = "publish"   // makes something public
	Destroy   Class = "destroy"   // removes what may not come back
	Privilege Class = "privilege" // acts with other rights
)

var classes = []Class{Read, Check, Project, Format, Write, Fetch, Install, Run, Send, Publish, Destroy, Privilege}

// Classes returns the classes but Unknown, from the least to the most severe.
func Classes() []Class { return slices.Clone(classes) }

// OnlyKnown reports whether a class holds only if all options of a command are known.
func (c Class) OnlyKnown() bool { return slices.Index(classes, c) <= slices.Index(classes, Fetch) }

// Operands is which operands of a command are paths.
type Operands string

// The operands of a command that are paths.
const (
	AllPaths   Operands = ""
	NoPaths    Operands = "none"
	FirstPaths Operands = "first" // those in front of the first option
	LastPath   Operands = "last"  // all; the last is written to, the others are read
	ReadPaths  Operands = "read"  // all; they are only read, whatever the class
	PatchPaths Operands = "patch" // those that a patch names: the only operand, or what the command reads
)

// Entry is what the table states of a command.
type Entry struct {
	Class    Class
	Why      string   // what it does, as the end of the sentence "The command ..."
	Operands Operands // which of them are paths
	Skip     int      // so many operands in front are no paths

	Script int // of the class Project: the index of the word that is run

	bare   bool
	option string
	never  *Program // whose operands have its rules; nil: none
}
