package approvals

import "strings"

// Suggestion is a pattern of [Request.SuggestedPatterns] with its effect.
type Suggestion struct {
	Pattern string `json:"pattern"`
	Allows  string `json:"allows"`  // what a grant of it allows, in a few words
	Covered int    `json:"covered"` // how many of the requests below it would have decided, with the exact patterns
	Of      int    `json:"of"`      // the latest other requests of the principal that are known, at most 200
}

// AllowsOf describes what a suggested pattern allows.
func AllowsOf(pattern string) string {
	tool, argument, _ := strings.Cut(strings.TrimSuffix(pattern, ")"), "(")
	const notSecrets = ", but for what may hold secrets"
	if argument == "*" {
		return "every call of " + tool
	}
	if begin, folder, ok := cutFolder(argument); ok {
		return "`" + begin + "` with files below " + folder + " and harmless options" + notSecrets
	}
	if strings.HasPrefix(argument, "{") && strings.Contains(argument, ":*") {
		return tool + " with these arguments, and any value for each *"
	}
	if begin, ok := strings.CutSuffix(argument, ":*"); ok {
		return "`" + begin + "` with any operands and harmless options" + notSecrets
	}
	if begin, ok := strings.CutSuffix(argument, " *"); ok {
		return "`" + begin + "` with any operands and harmless options" + notSecrets
	}
	if site, ok := strings.CutSuffix(argument, "/**"); ok && strings.Contains(argument, "://") {
		return "every page below " + site
	}
	if folder, ok := strings.CutSuffix(argument, "/**"); ok {
		return "every file below " + folder + ", new ones too" + notSecrets
	}
	return "exactly this"
}

// cutFolder returns the command and the folder of an argument COMMAND:FOLDER/**. One letter is a drive.
func cutFolder(argument string) (command, folder string, ok bool) {
	rest, ok := strings.CutSuffix(argument, "/**")
	for _, begin := range []string{":./", ":/", ":~/"} {
		at := strings.LastIndex(rest+"/", begin)
		if ok && at > 1 && !strings.Contains(rest, "://") {
			return rest[:at], rest[at+1:], true
		}
	}
	return "", "", false
}
