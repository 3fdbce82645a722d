package console

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/console/openapi"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/schema"
	"github.com/heldcall/heldcall/internal/schema/schematest"
)

func routesOf(t *testing.T) []route {
	t.Helper()
	c, err := New(Options{Listen: "127.0.0.1:0", Gate: &scriptedGate{}})
	if err != nil {
		t.Fatal(err)
	}
	return c.handlers.routes()
}

// Every route has its types in exchanges.
func TestEveryRouteIsDescribed(t *testing.T) {
	known := exchanges()
	for _, r := range routesOf(t) {
		name := r.method + " " + r.path
		if _, ok := known[name]; !ok {
			t.Errorf("exchanges has no %s", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("exchanges has %s, which is no route", name)
	}
}

// The document is public, so it is made only once.
func TestDocumentIsMadeOnce(t *testing.T) {
	c, err := New(Options{Listen: "127.0.0.1:0", Gate: &scriptedGate{}})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := c.handlers.pages.reference()
	again, err := c.handlers.pages.reference()
	document, same := reflect.ValueOf(c.handlers.pages.document()).Pointer(), reflect.ValueOf(c.handlers.pages.document()).Pointer()
	if err != nil || &first[0] != &again[0] || document != same {
		t.Errorf("it is made again for each request (%v)", err)
	}
}

// The document has every field that the console writes: a value of each type with all
// fields set matches its schema.
func TestEveryFieldIsDescribed(t *testing.T) {
	text, err := encode(openapi.Describe(describe(routesOf(t))))
	if err != nil {
		t.Fatal(err)
	}
	document, err := schematest.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, value any) {
		t.Helper()
		text, err := encode(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := document.Check("/components/schemas/"+name, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	checked := 0
	types := []reflect.Type{reflect.TypeFor[problem.Problem]()}
	for _, x := range exchanges() {
		types = append(types, x.Reply)
	}
	for _, of := range types {
		if of == nil || of.Kind() != reflect.Struct || schema.Name(of) == "" {
			continue
		}
		value := reflect.New(of)
		schematest.Fill(t, value.Elem())
		check(schema.Name(of), value.Interface())
		checked++
	}
	for _, m := range exchanges()["GET /api/v1/ws"].Socket.Sends {
		value := reflect.New(m.Is)
		schematest.Fill(t, value.Elem())
		value.Elem().FieldByName("Type").SetString(string(m.Name))
		check(openapi.MessageName(m.Name), value.Interface())
		checked++
	}
	if checked < 17 {
		t.Errorf("only %d types were tried", checked)
	}
}

// Lists accept exactly the documented parameters.
func TestParametersOfListsAreTaken(t *testing.T) {
	known := exchanges()
	for route, parse := range map[string]func(string) error{
		"GET /api/v1/requests":         func(query string) error { _, err := parseFilter(query); return err },
		"GET /api/v1/grants":           func(query string) error { _, err := parseGrantFilter(query); return err },
		"GET /api/v1/events":           func(query string) error { _, err := parseEventsQuery(query); return err },
		"GET /api/v1/audit":            func(query string) error { _, err := parseAuditFilter(query); return err },
		"GET /api/v1/policy/proposals": func(query string) error { _, err := parseProposalQuery(query); return err },
		"DELETE /api/v1/secrets":       func(query string) error { _, err := parseSecretQuery(query); return err },
		"GET /api/v1/ws":               func(query string) error { _, err := parseSocketQuery(query); return err },
	} {
		_, taken, _ := strings.Cut(parse("nonsense=1").Error(), "use ")
		names := strings.FieldsFunc(strings.ReplaceAll(taken, " or ", ", "), func(c rune) bool { return c == ',' || c == ' ' })
		if diff := cmp.Diff(names, known[route].Query); diff != "" {
			t.Errorf("%s: %s", route, diff)
		}
		delete(known, route)
	}
	for route, x := range known {
		if len(x.Query) > 0 {
			t.Errorf("the parameters of %s are not compared", route)
		}
	}
}

func TestTheDocumentAndItsPageAreServed(t *testing.T) {
	address, _ := startStaffed(t, &scriptedGate{}) // without a token
	status, header, body := ask(t, "GET", address+"/openapi.json", "")
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string              `json:"operationId"`
			Role        string              `json:"x-heldcall-role"`
			Security    []map[string][]any  `json:"security"`
			Parameters  []map[string]any    `json:"parameters"`
			Responses   map[string]struct{} `json:"responses"`
		}
	}
	if err := json.Unmarshal([]byte(body), &document); err != nil || status != 200 || document.OpenAPI != "3.1.0" || header.Get("Content-Type") != "application/json" {
		t.Fatalf("the document is %d %s (%v)", status, body, err)
	}
	status, header, page := ask(t, "GET", address+"/reference", "")
	if status != 200 || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page answers %d with %v", status, header)
	}
	ids := map[string]bool{}
	for _, r := range routesOf(t) {
		op, ok := document.Paths[r.path][strings.ToLower(r.method)]
		if !ok || op.OperationID == "" || ids[op.OperationID] || op.Role != string(r.role) || (len(op.Security) > 0) != (r.role != public) || len(op.Responses) != 2 {
			t.Errorf("%s %s is %+v", r.method, r.path, op)
		}
		ids[op.OperationID] = true
		if strings.Contains(r.path, "{") != (len(op.Parameters) > 0 && op.Parameters[0]["in"] == "path") {
			t.Errorf("%s has the parameters %v", r.path, op.Parameters)
		}
		if !strings.Contains(page, fmt.Sprintf("%s %s</code>", r.method, r.path)) {
			t.Errorf("the page does not show %s %s", r.method, r.path)
		}
	}
	for _, shown := range []string{`href="#Request"`, `<h2 id="DecisionPayload">`, "<code>modified_args</code>", `<h2 id="AgentToolPermissionRequestMessage">`, "&#34;get_agent_status&#34;", "Takes the role admin"} {
		if !strings.Contains(page, shown) {
			t.Errorf("the page does not show %s", shown)
		}
	}
}
