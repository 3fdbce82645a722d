package toolschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSchemaFlags(t *testing.T) {
	const shell = `{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer"},"env":{"type":"object","additionalProperties":{"type":"string"}},"options":{"$ref":"#/$defs/options"},"paths":{"type":"array","items":{"type":"string"}}},"$defs":{"options":{"type":"object","properties":{"cwd":{"type":["string","null"]},"parent":{"$ref":"#/$defs/options"}}}}`
	for _, tt := range []struct{ schema, arguments, want string }{
		{shell + "}", `{"command":"ls","timeout":5.0,"env":{"A":"b"},"options":{"cwd":null,"parent":{"cwd":"x"}},"paths":["a"]}`, ``},
		{shell + "}", `{"command":"ls","sudo":true}`, `The tool's schema does not know the argument sudo.`},
		{shell + `,"additionalProperties":false}`, `{"sudo":true}`, `The tool's schema does not know the argument sudo.`},
		{shell + `,"additionalProperties":true}`, `{"sudo":true}`, ``},
		{shell + `,"additionalProperties":{"type":"string"}}`, `{"sudo":true}`, `The argument sudo is of type boolean, and the tool's schema wants string.`},
		{shell + `,"patternProperties":{"^su":{"type":"boolean"}}}`, `{"sudo":true,"x":1}`, ``},
		{shell + "}", `{"command":["rm","x"],"timeout":"5"}`, "The argument command is of type array, and the tool's schema wants string.\nThe argument timeout is of type string, and the tool's schema wants integer."},
		{shell + "}", `{"timeout":1.5,"paths":["a",7]}`, "The argument paths[1] is of type number, and the tool's schema wants string.\nThe argument timeout is of type number, and the tool's schema wants integer."},
		{shell + "}", `{"options":{"parent":{"parent":{"force":1}}},"env":{"A":1}}`, "The argument env.A is of type number, and the tool's schema wants string.\nThe tool's schema does not know the argument options.parent.parent.force."},
		{`{"type":"object"}`, `{"a":1}`, ``},
		{`{}`, `{"a":1}`, ``},
		{`{"properties":{}}`, `{"a\u202e":1}`, `The tool's schema does not know the argument a\u202e.`},
		{`{"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`, `{"a":1,"b":2,"c":3}`, `The tool's schema does not know the argument c.`},
		{`{"allOf":[{"properties":{"a":{"properties":{"x":{}}}}},{"properties":{"a":{"properties":{"y":{}}},"b":{"type":"string"}}}]}`, `{"a":{"x":1,"y":2,"z":3},"b":2}`, "The tool's schema does not know the argument a.z.\nThe argument b is of type number, and the tool's schema wants string."},
		{`{"type":"array"}`, `{"a":1}`, `The whole of the arguments is of type object, and the tool's schema wants array.`},
		{`{"type":7}`, `{"a":1}`, unusableSchema},
		{shell + "}", `"not an object"`, ``},
	} {
		if got := strings.Join((&Cache{}).Warnings(json.RawMessage(tt.schema), json.RawMessage(tt.arguments)), "\n"); got != tt.want {
			t.Errorf("%s with %s:\n%s\nwant\n%s", tt.arguments, tt.schema, got, tt.want)
		}
	}
	if flags := (&Cache{}).Warnings(json.RawMessage(shell+"}"), nil); flags != nil {
		t.Errorf("no arguments to compare: %q", flags)
	}
}

// The cost of a hostile schema or call is bounded.
func TestSchemaFlagsAreBounded(t *testing.T) {
	doubling := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 60 {
		doubling += fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"},{"properties":{"a":{"$ref":"#/$defs/d0"}}}]},`, i, i+1, i+1)
	}
	doubling += `"d60":{"properties":{"a":{"$ref":"#/$defs/d0"}},"patternProperties":{"(a+)+$":{"$ref":"#/$defs/d0"}}}}}`
	deep := strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90)
	var wide strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&wide, `,"k%d":%d`, i, i)
	}
	for _, arguments := range []string{deep, `{"a":0` + wide.String() + "}", `{"a":[` + strings.Repeat(`{"a":1},`, 100_000) + `1]}`} {
		began := time.Now()
		if flags := (&Cache{}).Warnings(json.RawMessage(doubling), json.RawMessage(arguments)); len(flags) > maxSchemaFlags+1 {
			t.Errorf("%d flags", len(flags))
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%.20s… took %s", arguments, took)
		}
	}
}
