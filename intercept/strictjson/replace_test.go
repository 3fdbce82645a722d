package strictjson

import "testing"

// The bytes between the items of an array stay where each of them is replaced.
func TestReplaceItems(t *testing.T) {
	for _, tt := range []struct {
		array string
		items []string
		want  string
	}{
		{" [ 1 ,\n {\"a\": 1} ]", []string{"1", "{}"}, " [ 1 ,\n {} ]"},
		{`[1,1,11]`, []string{"2", "1", "3"}, `[2,1,3]`},
		{`["a" , "a"]`, []string{`"a"`, `"b"`}, `["a" , "b"]`},
		{`[ 1, 2 ]`, []string{"1"}, `[1]`},
		{`[ 1 ]`, []string{"1", "2"}, `[1,2]`},
		{`[ ]`, nil, `[ ]`},
		{``, []string{"1"}, `[1]`},
		{`null`, []string{"1"}, `[1]`},
		{`{"a":1}`, []string{"1"}, `[1]`},
		{`"x"`, []string{"1"}, `[1]`},
	} {
		if got := ReplaceItems(tt.array, tt.items); got != tt.want {
			t.Errorf("%s with %q: got %s, want %s", tt.array, tt.items, got, tt.want)
		}
	}
}
