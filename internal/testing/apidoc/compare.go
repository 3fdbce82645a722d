package apidoc

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
)

// Form is how a value is met.
type Form int

// The forms of values.
const (
	Written  Form = iota // by heldcall: fields that are always there are required
	Read                 // by heldcall: nothing is required by its form alone
	Strict               // the same, and names that are not known are refused
	Envelope             // either way; the test compares the required fields
)

// Named returns the types with a name of their own in values of some types, by the name that
// documents have for them.
func Named(form Form, roots ...reflect.Type) map[string]reflect.Type {
	named := map[string]reflect.Type{}
	for _, root := range roots {
		addNamed(named, form, root)
	}
	return named
}

func addNamed(named map[string]reflect.Type, form Form, t reflect.Type) {
	switch t {
	case nil, reflect.TypeFor[time.Time](), reflect.TypeFor[approvals.GrantEnd](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[jsontext.Value]():
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		addNamed(named, form, t.Elem())
	case reflect.Struct:
		if name := Name(form, t); name != "" {
			named[name] = t
		}
		for field := range t.Fields() {
			if field.Anonymous && field.Tag.Get("json") == "" { // its fields are those of t
				for inner := range field.Type.Fields() {
					addNamed(named, form, inner.Type)
				}
			} else if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
				addNamed(named, form, field.Type)
			}
		}
	}
}

// Name is what a type is called in a document; "" for one without a name of its own.
func Name(form Form, t reflect.Type) string {
	name := t.Name()
	if name == "" || strings.Contains(name, "[") {
		return ""
	}
	name = strings.ToUpper(name[:1]) + name[1:]
	if form != Written && !strings.HasSuffix(name, "Payload") {
		name += "Payload"
	}
	return name
}

// Compare holds the schema at a pointer to a type: JSON of values with all fields set, made by
// encode, has each property of the schema, and no other; the schema requires what the JSON of
// the zero value has. set changes a value before it is encoded.
func (d *Document) Compare(t *testing.T, pointer string, of reflect.Type, form Form, encode func(any) ([]byte, error), set ...func(reflect.Value)) {
	t.Helper()
	schema := d.Part(pointer)
	if schema == nil {
		t.Errorf("the document has no %s for %s", pointer, of)
		return
	}
	compared := map[string]bool{}
	for number := range mostValues() {
		value := reflect.New(of)
		fill(t, value.Elem(), number)
		for _, change := range set {
			change(value.Elem())
		}
		text, err := encode(value.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if compared[string(text)] { // its texts have fewer values
			continue
		}
		compared[string(text)] = true
		if err := d.Check(pointer, text); err != nil {
			t.Errorf("%s: %v", of, err)
			return
		}
		var decoded any
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Fatal(err)
		}
		d.compareProperties(t, pointer, schema, decoded)
	}
	d.compareValues(t, pointer, schema)
	if of.Kind() == reflect.Struct && schema["properties"] != nil {
		d.compareForm(t, pointer, schema, of, form, encode)
	}
}

// compareProperties notes each property of a schema that a value with all fields does not have.
func (d *Document) compareProperties(t *testing.T, pointer string, schema map[string]any, value any) {
	schema = d.resolve(schema)
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			member, ok := value[name]
			if !ok {
				t.Errorf("%s has the property %s, which its type has not", pointer, name)
				continue
			}
			d.compareProperties(t, pointer+"/properties/"+name, property.(map[string]any), member)
		}
		if rest, ok := schema["additionalProperties"].(map[string]any); ok {
			for _, member := range value {
				d.compareProperties(t, pointer+"/additionalProperties", rest, member)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range value {
			d.compareProperties(t, pointer+"/items", items, item)
		}
	}
}

// compareValues holds each enum in a schema to the values of a type: with the samples of
// Compare, which have each of them, it is that of the right type.
func (d *Document) compareValues(t *testing.T, pointer string, schema map[string]any) {
	t.Helper()
	for name, part := range schema {
		if inner, ok := part.(map[string]any); ok {
			d.compareValues(t, pointer+"/"+name, inner)
		}
	}
	if enum, ok := schema["enum"].([]any); ok && !d.isEnum(enum) {
		t.Errorf("%s has the values %v, which are those of no type", pointer, enum)
	}
}

func (d *Document) isEnum(enum []any) bool {
	equal := func(all []string) bool {
		return slices.EqualFunc(enum, all, func(a any, b string) bool { return a == b })
	}
	return equal(d.OtherValues) || slices.ContainsFunc(slices.Collect(maps.Values(values())), equal)
}

func (d *Document) compareForm(t *testing.T, pointer string, schema map[string]any, of reflect.Type, form Form, encode func(any) ([]byte, error)) {
	t.Helper()
	if closed := schema["additionalProperties"] == false; closed != (form == Strict) {
		t.Errorf("%s refuses other names: %v", pointer, closed)
	}
	if form == Envelope {
		return
	}
	always := map[string]any{}
	if form == Written {
		text, err := encode(reflect.New(of).Interface())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &always); err != nil {
			t.Fatal(err)
		}
	}
	var required []string
	listed, _ := schema["required"].([]any)
	for _, name := range listed {
		required = append(required, name.(string))
	}
	slices.Sort(required)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(always)), required); diff != "" {
		t.Errorf("%s requires other fields than %s always has (-type +document):\n%s", pointer, of, diff)
	}
}

// fill sets every field of a value. Texts that have few values get the one of a number.
func fill(t *testing.T, v reflect.Value, number int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	case json.RawMessage, jsontext.Value:
		v.SetBytes([]byte(`{"a":1}`))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), number)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), number)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), number)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		fill(t, element, number)
		v.SetMapIndex(reflect.ValueOf("k"), element)
	case reflect.String:
		v.SetString("x")
		if all := Values(v.Type()); all != nil {
			v.SetString(all[number%len(all)])
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		t.Fatalf("a field of %s: teach fill", v.Type())
	}
}
