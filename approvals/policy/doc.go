// Package policy says of a tool call whether it is allowed, denied or a person
// must be asked. It is pure: a call and its principal in, a verdict out.
//
// # The language
//
// A policy is one YAML file. Unknown and repeated keys are errors.
//
//	default: ask                     # ask (if absent), allow or deny
//	tools:
//	  bash:      {resource: command, as: shell, risk: high}
//	  read_file: {resource: path, as: path, risk: low}
//	  mcp__*:    {default: ask}
//	rules:
//	  - deny: ["bash(rm -rf *)", "read_file(./secrets/**)"]
//	    reason: Nothing is removed recursively here.
//	  - allow: ["bash(npm run test:*)", "read_file(./src/**)"]
//	  - ask: ["transfer"]
//	    risk: critical
//	    timeout: 30m                 # how long people have; 300s if absent
//	    on_timeout: deny             # or approve
//	    reviewers: [finance]
//	    required_approvals: 2
//	    remember: false
//
// The order of rules means nothing. A call is judged by the first of these that
// says something of it: a deny rule, an ask rule, an allow rule, the default of
// its tool, the risk of its tool (low allows, the others ask), the default of
// the policy. Where several ask rules match, the strictest settings of all of
// them hold: on_timeout is approve only if each of them says so.
//
// # Tools
//
// The keys of tools are names or globs of names; the longest text outside the
// stars wins. Resource is the field of the arguments that patterns are compared
// with, dotted for a field of a field, and as says what that field is: plain
// (if absent), path or shell. A tool without a resource is compared by its
// arguments as a whole: one line of JSON, names sorted, nothing between tokens.
// Deny and ask patterns are then also compared with each string among the
// arguments. Of a tool whose input is free text, that text is the resource.
//
// # Patterns
//
// A pattern is tool, for any arguments, or tool(argument). The tool is a glob,
// and letter case counts. What the argument means depends on the tool's as:
//
//   - plain: the whole resource, where * is any text. A trailing :* matches what
//     stands before it, alone or followed by a space or a colon.
//   - path: both sides are cleaned first, so src/../.env is .env and ./src is
//     src. * stays in one segment, ** crosses, nothing else is special. A path
//     that leads upwards matches only a pattern that leads up as far. A
//     relative and an absolute path are different paths, as the agent's folder
//     is not known, except that a deny or ask pattern that begins with ** covers
//     every folder. Symbolic links cannot be seen.
//   - shell: the script is parsed. A deny or ask pattern matches if any command
//     at any depth begins with it, by its name with or without folder. An allow
//     pattern is one command of plain words. Scripts are allowed only if they
//     are commands of plain words joined by &&, ||, ;, | or a new line, each
//     matched by an allow pattern, word for word: * is text within a word, a
//     last word * is one or more words, a trailing :* any number of them. A *
//     stands for operands, never for options: those are spelled out, or follow
//     a -- that is. Programs that run other programs or read scripts (env, sudo,
//     find, sh, python, ...) and programs named by a path are matched only by a
//     pattern without a *. A default, of a tool or of all, allows no script that
//     is more than plain words; a pattern that is the tool alone does.
//
// A lone * as the argument of a deny or ask pattern matches every call.
//
// # When in doubt
//
// What is not certain is never allowed. Arguments that are not strict JSON (a
// name twice, invalid UTF-8, anything after the object, ...) match no allow
// rule, and no default allows them. Where a deny rule for the tool has a pattern
// and it cannot be told whether that matches - the field is missing, the script
// does not parse or takes its words from a variable, letter case differs, the
// agent's folder would decide - a call that would be allowed is asked about.
// Reviewers see each doubt as a flag, and such a call is never approved by
// silence.
package policy
