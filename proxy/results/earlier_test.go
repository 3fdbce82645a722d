package results

import "testing"

// TestWithoutNumbers: the lines of a file in a result, in the forms in which agents show files to models.
func TestWithoutNumbers(t *testing.T) {
	for name, tt := range map[string]struct {
		text, plain string
		first       int
	}{
		"arrows":               {"     9→a\n    10→\tb\n    11→\n", "a\n\tb\n", 9},
		"tabs":                 {"1\ta\n2\tb", "a\nb", 1},
		"bars":                 {"<file>\n00001| a\n00002| \n00003|\n00004| b\n</file>", "a\n\n\nb", 1},
		"two parts":            {"5→a\n...\n9→b\n10→c", "b\nc", 9},
		"numbers not in order": {"5→a\n7→b\n8→c", "b\nc", 7},
		"no numbers":           {"a\nb", "", 0},
		"a number alone":       {"12\n13", "", 0},
		"line 0":               {"0→a", "", 0},
		"a large number":       {"99999999999999999999→a", "", 0},
		"nothing":              {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if plain, first := withoutNumbers(tt.text); plain != tt.plain || first != tt.first {
				t.Errorf("got %q from %d, want %q from %d", plain, first, tt.plain, tt.first)
			}
		})
	}
}
