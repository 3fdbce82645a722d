package toolschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// doubling returns a schema to which 2^levels paths of references lead.
func doubling(levels int) string {
	schema := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range levels {
		schema += fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	return schema + fmt.Sprintf(`"a%d":{"required":["x"]}}}`, levels)
}

// Edited arguments are checked if that takes bounded time; otherwise only policy judges them.
func TestEditsAreCheckedInBoundedTime(t *testing.T) {
	const missing, wrong = "missing property", "at /"
	circle := `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"},true]}}}`
	tree := `{"properties":{"a":{"$ref":"#"},"n":{"type":"integer"}}}`
	twice := `{"properties":{"a":{"$ref":"#"},"n":{"type":"integer"}},"patternProperties":{"^a":{"$ref":"#"}}}`
	deep := func(levels int, inner string) string {
		return strings.Repeat(`{"a":`, levels) + inner + strings.Repeat("}", levels)
	}
	for name, tt := range map[string]struct{ schema, arguments, want string }{
		"a few ways":         {doubling(8), `{}`, missing},
		"too many ways":      {doubling(40), `{}`, ""},
		"circle":             {circle, `{}`, ""},
		"a few ways down":    {twice, deep(6, `{"n":"x"}`), wrong},
		"too many ways down": {twice, deep(maxSchemaDepth-1, `{"n":"x"}`), ""},
		"recursive":          {tree, `{"a":{"a":{"n":"x"}}}`, wrong},
		"recursive, fits":    {tree, `{"a":{"a":{"n":1}}}`, ""},
		"many items":         {`{"properties":{"l":{"items":{"type":"integer"}}}}`, `{"l":[` + strings.Repeat("1,", 1000) + `"x"]}`, wrong},
		"too many items":     {`{"properties":{"l":{"items":{"type":"integer"}}}}`, `{"l":[` + strings.Repeat("1,", maxCheck/2) + `"x"]}`, ""},
		"names":              {`{"propertyNames":{"maxLength":1}}`, `{"abc":1}`, wrong},
		"patterns":           {`{"patternProperties":{"^a":{"type":"integer"}}}`, `{"abc":"x"}`, wrong},
		"costly pattern":     {`{"properties":{"a":{"pattern":"^(?:x?){1000}y$"}}}`, `{"a":"` + strings.Repeat("x", 50_000) + `"}`, ""},
		"long text":          {`{"properties":{"a":{"pattern":"^x*$"}}}`, `{"a":"` + strings.Repeat("x", 50_000) + `y"}`, wrong},
		"dependencies":       {`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"required":["b"]}}}`, `{"a":1}`, missing},
		"places":             {`{"properties":{"l":{"prefixItems":[true,{"type":"string"}]}}}`, `{"l":[1,2]}`, wrong},
		"places of draft 7":  {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"l":{"items":[true],"additionalItems":{"type":"string"}}}}`, `{"l":[1,2]}`, wrong},
		"enum":               {`{"properties":{"a":{"enum":[1,2]}}}`, `{"a":3}`, wrong},
		"exponent":           {`{"properties":{"n":{"minimum":0}}}`, `{"n":1e2000000}`, "cannot be checked"},
		"digits":             {`{"properties":{"n":{"minimum":0}}}`, `{"n":` + strings.Repeat("7", maxNumber+1) + `}`, "cannot be checked"},
		"too deep":           {tree, deep(maxSchemaDepth, "{}"), "cannot be checked"},
		"no schema":          {``, `{"n":1e2000000}`, ""},
	} {
		err := Check(json.RawMessage(tt.schema), json.RawMessage(tt.arguments))
		if got := fmt.Sprint(err); (err == nil) != (tt.want == "") || (!strings.Contains(got, tt.want) && tt.want != "") {
			t.Errorf("%s: %.200s; want …%s…", name, got, tt.want)
		}
	}
}

// In a complete graph of references, each order of the nodes is a path.
func TestCirclesAreNotChecked(t *testing.T) {
	const nodes = 16
	var defs []string
	for i := range nodes {
		var all []string
		for j := range nodes {
			if i != j {
				all = append(all, fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, j))
			}
		}
		defs = append(defs, fmt.Sprintf(`"a%d":{"anyOf":[%s]}`, i, strings.Join(all, ",")))
	}
	schema := `{"$ref":"#/$defs/a0","$defs":{` + strings.Join(defs, ",") + `}}`
	if err := Check(json.RawMessage(schema), json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
}
