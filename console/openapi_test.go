package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/openapi"
	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/apidoc"
)

// exchange is the types of the body and the reply of a route; nil is none.
type exchange struct {
	body, reply reflect.Type
	media       string // of the reply; "": JSON
}

// exchanges are the types that go in and out by each route.
func exchanges() map[string]exchange {
	var (
		request    = reflect.TypeFor[approvals.Request]()
		grant      = reflect.TypeFor[approvals.Grant]()
		grantBody  = reflect.TypeFor[approvals.GrantPayload]()
		delegation = reflect.TypeFor[approvals.Delegation]()
		self       = reflect.TypeFor[me]()
	)
	return map[string]exchange{
		"GET /api/v1/requests":                  {reply: reflect.TypeFor[approvals.Page]()},
		"GET /api/v1/requests/{id}":             {reply: request},
		"GET /api/v1/requests/{id}/suggestions": {reply: reflect.TypeFor[listOf[approvals.Suggestion]]()},
		"POST /api/v1/requests/{id}/decision":   {body: reflect.TypeFor[approvals.DecisionPayload](), reply: request},
		"POST /api/v1/requests/{id}/challenge":  {body: reflect.TypeFor[approvals.DecisionPayload](), reply: reflect.TypeFor[passkeys.BrowserOptions]()},
		"POST /api/v1/decisions":                {body: reflect.TypeFor[batchPayload](), reply: reflect.TypeFor[batchReply]()},
		"GET /api/v1/runs":                      {reply: reflect.TypeFor[listOf[approvals.Run]]()},
		"GET /api/v1/runs/{id}":                 {reply: reflect.TypeFor[approvals.Run]()},
		"POST /api/v1/runs/{id}/signal":         {body: reflect.TypeFor[approvals.Signal](), reply: reflect.TypeFor[approvals.Steered]()},
		"POST /api/v1/runs/{id}/workspace":      {body: reflect.TypeFor[approvals.RunFolder](), reply: grant},
		"GET /api/v1/signals":                   {reply: reflect.TypeFor[listOf[approvals.PrincipalSignal]]()},
		"POST /api/v1/signals":                  {body: reflect.TypeFor[approvals.PrincipalSignalPayload](), reply: reflect.TypeFor[approvals.PrincipalSignal]()},
		"GET /api/v1/grants":                    {reply: reflect.TypeFor[approvals.GrantPage]()},
		"POST /api/v1/grants":                   {body: grantBody, reply: grant},
		"POST /api/v1/grants/preview":           {body: grantBody, reply: reflect.TypeFor[approvals.GrantPreview]()},
		"GET /api/v1/grants/{id}":               {reply: grant},
		"DELETE /api/v1/grants/{id}":            {reply: grant},
		"GET /api/v1/grant-templates":           {reply: reflect.TypeFor[listOf[approvals.GrantTemplate]]()},
		"GET /api/v1/policy/proposals":          {reply: reflect.TypeFor[approvals.Proposals]()},
		"GET /api/v1/secrets":                   {reply: reflect.TypeFor[listOf[approvals.Secret]]()},
		"POST /api/v1/secrets":                  {body: reflect.TypeFor[approvals.SecretPayload](), reply: reflect.TypeFor[approvals.Secret]()},
		"DELETE /api/v1/secrets":                {reply: reflect.TypeFor[approvals.Secret]()},
		"GET /api/v1/events":                    {reply: reflect.TypeFor[approvals.Event](), media: "text/event-stream"},
		"GET /api/v1/ws":                        {},
		"GET /api/v1/audit":                     {reply: reflect.TypeFor[approvals.EventPage]()},
		"GET /api/v1/audit/state":               {reply: reflect.TypeFor[listOf[audit.Difference]]()},
		"GET /api/v1/delegations":               {reply: reflect.TypeFor[listOf[approvals.Delegation]]()},
		"POST /api/v1/delegations":              {body: reflect.TypeFor[delegationPayload](), reply: delegation},
		"DELETE /api/v1/delegations/{id}":       {reply: delegation},
		"GET /api/v1/me":                        {reply: self},
		"GET /api/v1/push":                      {reply: reflect.TypeFor[pushReply]()},
		"POST /api/v1/push":                     {body: reflect.TypeFor[subscriptionPayload](), reply: reflect.TypeFor[pushBrowser]()},
		"DELETE /api/v1/push/{id}":              {},
		"GET /api/v1/passkeys":                  {reply: reflect.TypeFor[passkeys.Listed]()},
		"POST /api/v1/passkeys":                 {body: reflect.TypeFor[passkeys.Registration](), reply: reflect.TypeFor[passkeys.Item]()},
		"POST /api/v1/passkeys/options":         {body: reflect.TypeFor[passkeys.Named](), reply: reflect.TypeFor[passkeys.BrowserOptions]()},
		"POST /api/v1/passkeys/challenge":       {body: reflect.TypeFor[passkeys.Change](), reply: reflect.TypeFor[passkeys.BrowserOptions]()},
		"POST /api/v1/passkeys/{id}/revoke":     {body: reflect.TypeFor[passkeys.Revocation]()},
		"GET /api/v1/session":                   {reply: reflect.TypeFor[signInMethods]()},
		"POST /api/v1/session":                  {body: reflect.TypeFor[signInPayload](), reply: self},
		"DELETE /api/v1/session":                {},
		"POST /api/v1/session/oidc":             {reply: reflect.TypeFor[oidc.Begun]()},
		"POST /api/v1/session/oidc/code":        {body: reflect.TypeFor[oidc.Returned](), reply: self},
		"GET /openapi.json":                     {reply: reflect.TypeFor[map[string]int]()}, // as the document has always had it
		"GET /reference":                        {reply: reflect.TypeFor[string](), media: "text/html"},
		"GET /metrics":                          {reply: reflect.TypeFor[string](), media: "text/plain"},
		"GET /healthz":                          {reply: reflect.TypeFor[healthReply]()},
		"GET /readyz":                           {reply: reflect.TypeFor[readinessReply]()},
	}
}

// socketSends and socketReceives are the messages of the WebSocket.
func socketSends() map[live.Type]reflect.Type {
	return map[live.Type]reflect.Type{
		live.TypeRequest: reflect.TypeFor[live.Message[live.RequestData]](),
		live.TypeUpdate:  reflect.TypeFor[live.Message[live.RequestData]](),
		live.TypeReady:   reflect.TypeFor[live.Message[live.Ready]](),
		live.TypeStatus:  reflect.TypeFor[live.Message[live.AgentStatus]](),
		live.TypeError:   reflect.TypeFor[live.Message[problem.Problem]](),
	}
}

func socketReceives() map[live.Type]reflect.Type {
	return map[live.Type]reflect.Type{
		live.TypeResponse: reflect.TypeFor[live.Message[approvals.DecisionPayload]](),
		live.TypeQuery:    reflect.TypeFor[live.Message[live.StatusQuery]](),
	}
}

func openDocument(t *testing.T) *apidoc.Document {
	t.Helper()
	text, err := openapi.Document()
	if err != nil {
		t.Fatal(err)
	}
	document, err := apidoc.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

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
	document, _ := c.handlers.pages.document()
	same, unread := c.handlers.pages.document()
	if err != nil || unread != nil || &first[0] != &again[0] || &document[0] != &same[0] {
		t.Errorf("it is made again for each request (%v, %v)", err, unread)
	}
}

// The document has every field that goes over the routes, and no other.
func TestTypesAreThoseOfTheDocument(t *testing.T) {
	document := openDocument(t)
	written, read := []reflect.Type{reflect.TypeFor[problem.Problem]()}, []reflect.Type(nil)
	for route, x := range exchanges() {
		method, path, _ := strings.Cut(route, " ")
		operation := apidoc.Pointer("paths", path, strings.ToLower(method))
		if x.reply != nil {
			content := apidoc.Pointer("responses", "200", "content", cmp.Or(x.media, "application/json"), "schema")
			document.Compare(t, operation+content, x.reply, apidoc.Written, encode)
		} else if status := document.Part(operation + "/responses/200"); status != nil {
			t.Errorf("%s has the answer %v", route, status)
		}
		if x.body != nil {
			document.Compare(t, operation+apidoc.Pointer("requestBody", "content", "application/json", "schema"), x.body, apidoc.Read, encode)
		} else if body := document.Part(operation + "/requestBody"); body != nil {
			t.Errorf("%s has the body %v", route, body)
		}
		written, read = append(written, x.reply), append(read, x.body)
	}
	messages := map[string]bool{}
	compareMessages(t, document, messages, "x-heldcall-sends", socketSends(), []any{"type", "data"})
	compareMessages(t, document, messages, "x-heldcall-receives", socketReceives(), []any{"type"})
	written = slices.AppendSeq(written, dataOf(socketSends()))
	read = slices.AppendSeq(read, dataOf(socketReceives()))
	components := apidoc.Named(apidoc.Written, written...)
	for name, of := range components {
		document.Compare(t, apidoc.Pointer("components", "schemas", name), of, apidoc.Written, encode)
	}
	for name, of := range apidoc.Named(apidoc.Read, read...) {
		if other := components[name]; other != nil && other != of {
			t.Errorf("%s and %s are both %s", of, other, name)
		}
		components[name] = of
		document.Compare(t, apidoc.Pointer("components", "schemas", name), of, apidoc.Read, encode)
	}
	for name := range document.Part("/components/schemas") {
		if components[name] == nil && !messages[name] {
			t.Errorf("the document has %s, which goes over no route", name)
		}
	}
	if len(components) < 40 {
		t.Errorf("only %d types were compared", len(components))
	}
}

// compareMessages compares the messages of the WebSocket in one direction, and notes their names.
func compareMessages(t *testing.T, document *apidoc.Document, compared map[string]bool, direction string, types map[live.Type]reflect.Type, required []any) {
	t.Helper()
	choice := document.Part(apidoc.Pointer("paths", live.Path, "get", "responses", "101", direction))
	mapping := choice["discriminator"].(map[string]any)["mapping"].(map[string]any)
	if len(mapping) != len(types) || len(choice["oneOf"].([]any)) != len(types) {
		t.Errorf("%s has %d messages, not %d", direction, len(mapping), len(types))
	}
	for name, of := range types {
		reference, _ := mapping[string(name)].(string)
		if !slices.ContainsFunc(choice["oneOf"].([]any), func(one any) bool { return one.(map[string]any)["$ref"] == reference }) {
			t.Errorf("%s does not have %s", direction, name)
			continue
		}
		pointer := strings.TrimPrefix(reference, "#")
		document.Compare(t, pointer, of, apidoc.Envelope, encode, func(message reflect.Value) { message.FieldByName("Type").SetString(string(name)) })
		if diff := gocmp.Diff(required, document.Part(pointer)["required"]); diff != "" {
			t.Errorf("%s requires other fields: %s", name, diff)
		}
		compared[reference[strings.LastIndexByte(reference, '/')+1:]] = true
	}
}

func dataOf(messages map[live.Type]reflect.Type) iter.Seq[reflect.Type] {
	return func(yield func(reflect.Type) bool) {
		for _, message := range messages {
			if data, _ := message.FieldByName("Data"); !yield(data.Type) {
				return
			}
		}
	}
}

// Lists accept exactly the documented parameters.
func TestParametersOfListsAreTaken(t *testing.T) {
	document, compared := openDocument(t), map[string]bool{}
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
		if diff := gocmp.Diff(names, parameters(document, route, "query")); diff != "" {
			t.Errorf("%s: %s", route, diff)
		}
		compared[route] = true
	}
	for route := range exchanges() {
		if !compared[route] && len(parameters(document, route, "query")) > 0 {
			t.Errorf("the parameters of %s are not compared", route)
		}
	}
}

// parameters are the names of those of a route that are in one place.
func parameters(document *apidoc.Document, route, in string) (names []string) {
	method, path, _ := strings.Cut(route, " ")
	all, _ := document.Part(apidoc.Pointer("paths", path, strings.ToLower(method)))["parameters"].([]any)
	for _, parameter := range all {
		if p := parameter.(map[string]any); p["in"] == in {
			names = append(names, p["name"].(string))
		}
	}
	return names
}

func TestTheDocumentAndItsPageAreServed(t *testing.T) {
	address, _ := startStaffed(t, &scriptedGate{}) // without a token
	status, header, body := ask(t, "GET", address+"/openapi.json", "")
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string              `json:"operationId"`
			Summary     string              `json:"summary"`
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
	ids, operations := map[string]bool{}, 0
	for _, methods := range document.Paths {
		operations += len(methods)
	}
	if n := len(routesOf(t)); operations != n {
		t.Errorf("the document has %d routes, not %d", operations, n)
	}
	for _, r := range routesOf(t) {
		op, ok := document.Paths[r.path][strings.ToLower(r.method)]
		if !ok || op.OperationID == "" || ids[op.OperationID] || op.Summary != r.about || op.Role != string(r.role) || (len(op.Security) > 0) != (r.role != public) || len(op.Responses) != 2 {
			t.Errorf("%s %s is %+v", r.method, r.path, op)
		}
		ids[op.OperationID] = true
		var inPath []string
		for _, match := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(r.path, -1) {
			inPath = append(inPath, match[1])
		}
		if diff := gocmp.Diff(inPath, parameters(openDocument(t), r.method+" "+r.path, "path")); diff != "" {
			t.Errorf("%s has other parameters: %s", r.path, diff)
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
