package toolschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A schema that is costly to compile is not compiled: the request has a warning, and only
// policy judges edits.
func TestCostlySchemasAreNotCompiled(t *testing.T) {
	many := func(n int, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ",")
	}
	for name, tt := range map[string]struct {
		schema string
		usable bool
	}{
		"deep":                {strings.Repeat(`{"not":`, maxSchemaDepth) + "true" + strings.Repeat("}", maxSchemaDepth), true},
		"too deep":            {strings.Repeat(`{"not":`, maxSchemaDepth+1) + "true" + strings.Repeat("}", maxSchemaDepth+1), false},
		"deep as data":        {`{"default":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", false},
		"numbers":             {`{"enum":[1e308,-1.5E-308,9007199254740993]}`, true},
		"exponent":            {`{"enum":[1e309]}`, false},
		"negative exponent":   {`{"multipleOf":1e-309}`, false},
		"exponent in words":   {`{"minimum":1e99999999999999999999}`, false},
		"digits":              {`{"enum":[` + strings.Repeat("7", maxNumber+1) + `]}`, false},
		"pattern":             {`{"pattern":"^[a-z]{1,256}$"}`, true},
		"long pattern":        {`{"pattern":"` + strings.Repeat("a", maxPattern+1) + `"}`, false},
		"counted pattern":     {`{"pattern":"(?:` + strings.Repeat("ab", 100) + `){1000}"}`, false},
		"nested counts":       {`{"pattern":"(?:(?:abcdefgh){30}){30}"}`, false},
		"escaped keyword":     {`{"p\u0061ttern":"(?:` + strings.Repeat("ab", 100) + `){1000}"}`, false},
		"pattern of names":    {`{"patternProperties":{"(?:` + strings.Repeat("ab", 100) + `){1000}":{}}}`, false},
		"not a pattern":       {`{"pattern":"("}`, false},
		"patterns":            {`{"patternProperties":{` + many(maxSchemaPatterns, `"x%d":{}`) + `}}`, true},
		"too many patterns":   {`{"patternProperties":{` + many(maxSchemaPatterns+1, `"x%d":{}`) + `}}`, false},
		"schemas":             {`{"anyOf":[` + many(1000, `{"title":"%d"}`) + `]}`, true},
		"too many schemas":    {`{"anyOf":[` + many(maxSubschemas, `{"title":"%d"}`) + `]}`, false},
		"repeated name":       {`{"anyOf":[` + many(maxSubschemas, `{"title":"%d"}`) + `],"anyOf":[true]}`, false},
		"references":          {`{"anyOf":[` + many(100, `{"$ref":"#/$defs/a%d"}`) + `],"$defs":{` + many(100, `"a%d":{}`) + `}}`, true},
		"places":              {`{"properties":{"a":{"anyOf":[{"type":"object"}]},"b":{"$ref":"#/properties/a/anyOf/0"},"c":{"$ref":"#"}}}`, true},
		"odd place":           {`{"$ref":"#/x","x":{"title":"x"}}`, false},
		"odd index":           {`{"$ref":"#/anyOf/00","anyOf":[{"title":"x"}]}`, false},
		"definitions":         {`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{}}}`, true},
		"defs too early":      {`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/a","$defs":{"a":{}}}`, false},
		"too many references": {`{"anyOf":[` + many(maxSchemaRefs+1, `{"$ref":"#/$defs/a%d"}`) + `],"$defs":{` + many(maxSchemaRefs+1, `"a%d":{}`) + `}}`, false},
		"long name":           {`{"properties":{"` + strings.Repeat("a", maxSchemaPath) + `":{}}}`, false},
		"long names":          {`{"properties":{"` + strings.Repeat("a", 600) + `":{"properties":{"` + strings.Repeat("a", 600) + `":{}}}}}`, false},
		"long reference":      {`{"$ref":"#/x/` + strings.Repeat("0", maxSchemaPath) + `","x":[{"title":"x"}]}`, false},
		"other document":      {`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, false},
		"dynamic":             {`{"$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x"}}}`, false},
		"recursive":           {`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}`, false},
		"draft 2020-12":       {`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, true},
		"draft 2019-09":       {`{"$schema":"https://json-schema.org/draft/2019-09/schema#","type":"object"}`, true},
		"draft 7":             {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, true},
		"draft 6":             {`{"$schema":"http://json-schema.org/draft-06/schema#","type":"object"}`, true},
		"draft 4":             {`{"$schema":"http://json-schema.org/draft-04/schema#","enum":[{}]}`, true},
		"unknown draft":       {`{"$schema":"http://json-schema.org/draft-03/schema#","type":"object"}`, false},
		"draft within":        {`{"properties":{"a":{"$id":"b","$schema":"http://json-schema.org/draft-03/schema#"}}}`, false},
		"keywords as names":   {`{"properties":{"pattern":{"type":"string"},"$ref":{"type":"string"},"$schema":{"type":"string"},"patternProperties":{"type":"object"}}}`, true},
	} {
		flags := (&Cache{}).Warnings(json.RawMessage(tt.schema), json.RawMessage(`{}`))
		if usable := !slices.Contains(flags, unusableSchema); usable != tt.usable {
			t.Errorf("%s: usable %v: %v", name, usable, scanSchema(json.RawMessage(tt.schema)))
		}
		if compiled, err := compileSchema(json.RawMessage(tt.schema), compilePattern); (err == nil && compiled != nil) != tt.usable {
			t.Errorf("%s: wrong warning: %v", name, err)
		}
		if tt.usable {
			continue
		}
		if err := Check(json.RawMessage(tt.schema), json.RawMessage(`{}`)); err != nil {
			t.Errorf("%s: an edit breaks an unusable schema: %v", name, err)
		}
	}
}

// Patterns are not matched for warnings, and each of them is a step.
func TestFlagsTryNoPatterns(t *testing.T) {
	var patterns, names strings.Builder
	for i := range maxSchemaPatterns {
		fmt.Fprintf(&patterns, `"(x+x+)+y%d$":{"type":"string"},`, i)
	}
	for i := range 500 {
		fmt.Fprintf(&names, `"%d":1,`, i)
	}
	schema := json.RawMessage(`{"patternProperties":{` + patterns.String() + `"z":{}}}`)
	arguments := json.RawMessage("{" + names.String() + `"z":1}`)
	// One pattern above the limit.
	if flags := (&Cache{}).Warnings(schema, arguments); !slices.Equal(flags, []string{unusableSchema}) {
		t.Errorf("%q", flags)
	}
	schema = json.RawMessage(`{"patternProperties":{` + strings.TrimSuffix(patterns.String(), ",") + `}}`)
	if flags := (&Cache{}).Warnings(schema, arguments); !slices.Equal(flags, []string{notAllCompared}) {
		t.Errorf("%q", flags)
	}
}

// The calls of a turn share the compiled schema of their tool.
func TestCallsOfATurnShareASchema(t *testing.T) {
	schemas := &Cache{}
	one, err := schemas.compile(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	if two, err := schemas.compile(json.RawMessage(`{"type":"object"}`)); err != nil || one != two {
		t.Errorf("compiled again: %v", err)
	}
}
