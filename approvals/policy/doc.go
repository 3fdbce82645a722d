// Package policy decides whether a tool call is allowed, denied or a person
// must be asked. It is pure: a call and its principal in, a verdict out.
//
// # The language
//
// A policy is one YAML file. Unknown and repeated keys are errors.
//
//	default: ask                     # or allow, or deny; if absent: the built-in risks, else ask
//	ambiguous: ask                   # or deny: calls with more than one reading
//	profiles: all                    # or none, or a list of agents: [codex, opencode]
//	tools:
//	  bash:      {resource: command, as: shell, risk: high}
//	  read_file: {resource: path, as: path}
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
//	  - ask: ["transfer"]
//	    when: args.amount > 1000 && principal.user != "treasurer"
//	  - allow: ["web_fetch"]
//	    limit: {per_run: 50, then: ask}    # also per_turn, per_minute; or deny
//	  - deny: ["*(*BEGIN PRIVATE KEY*)"]
//	    match: arguments             # not the resource alone
//
// The order of rules means nothing. A call is judged by the first of these that
// covers it: a deny rule, an ask rule, an allow rule, the default of
// its tool, the risk of its tool (low allows, the others ask), the default of
// the policy. Where several ask rules match, the strictest settings of all of
// them hold: on_timeout is approve only if it is in each of them.
//
// # Limits
//
// A rule with a limit lets so many calls pass, or asks about so many: what is beyond
// gets the verdict that then names. The policy keeps no count: it names the limits in
// its verdict, a [Counter] counts, and [Limit.Beyond] is the verdict on one call too
// many.
//
// # Grants
//
// Beside the rules there may be grants ([Policy.With]): remembered decisions, each
// for the calls of some principal. One that denies counts like a deny rule, one
// that allows like an allow rule; so an ask rule overrides it, unless remember
// is true or names its scope. No grant that allows covers a call in doubt, nor a
// program that it does not name.
//
// # Conditions
//
// A rule with when holds only for calls of which that is true. It is written in
// CEL, and its mistakes are found when the policy is read. It sees tool, args,
// resource, commands (those found in a shell command), principal.tenant, .user and
// .agent, session, run, model, dialect, risk (of the tool) and now. A condition
// that cannot be evaluated - a field is missing, or it takes too long - counts as
// true in a deny or ask rule, with a warning, and as false in an allow rule.
//
// # Tools
//
// The keys of tools are names or globs of names; the longest text outside the
// stars wins. Resource is the field of the arguments that patterns are compared
// with, or a list of fields of which each that is there counts, dotted for a field
// of a field. As is the kind of the field: plain (if absent), path, shell, url, or
// patch, which is the paths that a patch for apply_patch names. A list of texts is
// several paths or URLs, and the words of one command. All of them must be allowed.
// Workdir is the field of the folder from which paths count, or in which a command
// may run. Args lists the other arguments that a call may have. One that has more,
// or a text in an argument that nothing is known of, is covered by no allow pattern
// with an argument; deny and ask patterns are compared with that text, and one that
// denies asks.
//
// A tool without a resource is compared by its arguments as a whole: one line of
// JSON, names sorted, nothing between tokens. Deny and ask patterns are then also
// compared with each string among the arguments. Of a tool whose input is free
// text, that text is the resource.
//
// The tools of well-known agents are built in (resource/profiles.yaml). An entry of the
// policy adds to them, or counts in their place with replace: true. The risk of a
// built-in tool decides only where the policy has no default, and neither an entry
// nor an allow rule for it; low lets a call pass only if it is certain what it is
// about. What may hold secrets (resource/secrets.go) is asked about even where a rule allows it, unless
// a pattern names it or is the tool's name alone.
//
// # Patterns
//
// A pattern is tool, for any arguments, or tool(argument). The tool is a glob,
// and letter case counts; shell(argument) is for every tool whose as is shell. What the
// argument means depends on the tool's as, unless the rule has match: arguments, which
// compares with the arguments as a whole:
//
//   - plain: the whole resource, where * is any text. A trailing :* matches the
//     text before it, alone or followed by a space or a colon.
//   - path: both sides are cleaned first, so src/../.env is .env and ./src is
//     src. * stays in one segment, ** crosses, nothing else is special. A path
//     that leads upwards matches only a pattern that leads up as far. A
//     relative and an absolute path are different paths, as the agent's folder
//     is not known, except that a deny or ask pattern that begins with ** covers
//     every folder. $HOME is ~. Symbolic links cannot be seen.
//   - url: scheme://host/path. Scheme, host and port are compared each for itself;
//     in a host * stays in one label and ** crosses, in the path as in paths. A
//     pattern without a path covers every path. The query is not compared.
//   - shell: the script is parsed. A deny or ask pattern matches if any command
//     at any depth begins with it, by its name with or without folder, quoting
//     removed: also what sudo, env, xargs, find -exec, sh -c, eval and the like
//     run, and with options in other places or as letters in another order.
//     Where an option may be another way to write the pattern's, or a program that
//     is not known names what is denied, it may match. An allow pattern is one command
//     of plain words. Scripts are allowed only
//     if they are commands of plain words joined by &&, ||, ;, | or a new line, in
//     brackets or not, each matched by an allow pattern, word for word: * is text
//     within a word, a last word * is one or more words, a trailing :* any number
//     of them. A * stands for operands, and for options that are known to be
//     harmless (shell/programs.yaml); others are spelled out, or follow a -- that is.
//     The shell is one like bash: what cmd or PowerShell make of a script is not
//     judged.
//     Programs that run other programs or read scripts (env, sudo, sh, python,
//     ...), where that table does not list them, and programs named by a path are
//     matched only by a pattern without a *. What timeout, nice, time, stdbuf and
//     command run is what counts. Output may go to /dev/null. A default, of a tool
//     or of all, allows no script of a tool that the policy has an entry for if it
//     is more than plain words; a pattern that is the tool alone does.
//
// A lone * as the argument of a deny or ask pattern matches every call.
//
// # When in doubt
//
// What is not certain is never allowed. Arguments that are not strict JSON (a
// name twice, invalid UTF-8, anything after the object, ...), or that have a number
// with an exponent or one that no double holds, match no allow rule, and no default
// allows them. Where a deny rule for the tool has a pattern
// and it cannot be told whether that matches - the field is missing, the script
// does not parse or takes its words from a variable, letter case differs, the
// agent's folder would decide - a call that would be allowed is asked about.
// ambiguous: deny denies calls with more than one reading.
// Reviewers see each doubt as a flag, and such a call is never approved by
// silence.
//
// # The code
//
// [Policy.Judge] begins it. An evaluation (evaluation.go) is a call, parsed by package
// resource, that is compared with the rules and grants; a question (question.go) makes the
// verdict. Package rule reads the files and compares single patterns, package shell finds
// the commands of scripts, and package match compares texts. None of them imports this one.
package policy
