// Package match compares the texts of tool calls with the patterns of policies: plain
// texts, paths, URLs and the files of a patch, and reads the JSON arguments in which
// they are. It knows no policy and no shell; everything in it is a pure function.
//
// [Glob], [PathGlob] and [URLGlob] are the forms of patterns. Their Covers methods are for
// rules that allow and are exact. Their Match methods are for rules that deny or ask, and
// return a [Result] of three values.
package match

// Result is the result of a deny or ask pattern. A larger value is more certain.
type Result int

// The results.
const (
	No    Result = iota
	Maybe        // it is not known: the call must not be allowed
	Yes
)
