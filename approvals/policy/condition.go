package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
	"github.com/heldcall/heldcall/approvals"
)

// maxCost bounds what a condition may cost, in units of CEL: some milliseconds.
const maxCost = 20_000

// condition is the when of a rule.
type condition struct {
	source  string
	program cel.Program
}

func (c *condition) text() string {
	if c == nil {
		return ""
	}
	return c.source
}

// conditionError is a mistake in a condition, with its place in it.
type conditionError struct {
	line, column int // from 1
	problem      string
}

func (e *conditionError) Error() string { return e.problem }

// conditions is what conditions are written in. It never changes.
var conditions = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.CrossTypeNumericComparisons(true),
		ext.Strings(),
		ext.NativeTypes(reflect.TypeFor[approvals.Principal](), ext.ParseStructTag("json")),
		cel.Variable("tool", cel.StringType),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("resource", cel.StringType),
		cel.Variable("commands", cel.ListType(cel.StringType)),
		cel.Variable("principal", cel.ObjectType("approvals.Principal")),
		cel.Variable("session", cel.StringType),
		cel.Variable("run", cel.StringType),
		cel.Variable("model", cel.StringType),
		cel.Variable("dialect", cel.StringType),
		cel.Variable("risk", cel.StringType),
		cel.Variable("now", cel.TimestampType),
	)
})

// newCondition compiles and type-checks a condition.
func newCondition(source string) (*condition, error) {
	env, err := conditions()
	if err != nil {
		return nil, fmt.Errorf("set up conditions: %w", err)
	}
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, &conditionError{first.Location.Line(), first.Location.Column() + 1, first.Message}
	}
	if kind := ast.OutputType(); !kind.IsExactType(types.BoolType) && !kind.IsExactType(types.DynType) {
		return nil, &conditionError{1, 1, fmt.Sprintf("is %s and must be true or false", kind)}
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, &conditionError{1, 1, err.Error()}
	}
	return &condition{source, program}, nil
}

// holds reports whether the condition is true of a call. An error is one of its
// run, such as a field that the arguments do not have.
func (c *condition) holds(s *subject) (bool, error) {
	out, _, err := c.program.Eval(s.variables())
	if err != nil {
		return false, err
	}
	if held, ok := out.Value().(bool); ok {
		return held, nil
	}
	return false, fmt.Errorf("it is %s and must be true or false", out.Type().TypeName())
}

// variables are what a condition may ask about a call. What is not known is
// missing, so that a condition that asks for it fails.
func (s *subject) variables() map[string]any {
	if s.asked != nil {
		return s.asked
	}
	s.asked = map[string]any{
		"tool": s.call.Tool, "args": map[string]any{}, "resource": s.text, "commands": s.commandTexts(),
		"principal": s.call.Principal, "session": s.call.Session, "run": s.call.Run, "model": s.call.Model,
		"dialect": s.call.Dialect, "risk": string(s.risk()),
	}
	if !s.call.FreeText {
		s.asked["args"] = match.DecodeObject(s.call.Arguments)
	}
	if !s.call.Now.IsZero() {
		s.asked["now"] = s.call.Now
	}
	return s.asked
}

// meets narrows down what a deny or ask pattern says of the call by the
// condition of its rule. One that fails counts as true.
func (s *subject) meets(p *pattern, found match.Result) match.Result {
	when, grant := p.rule.when, p.rule.grant
	switch {
	case grant != nil && !grant.holds(s.call.Now):
		return match.No
	case found == match.No || when == nil:
		return found
	}
	if len(s.doubts) > 0 {
		return match.Maybe
	}
	held, err := when.holds(s)
	if err != nil {
		s.failed(p, err)
		return found
	}
	if !held {
		return match.No
	}
	return found
}

// allows reports whether the condition of an allow pattern's rule is true, and
// whether its grant holds, which never lets other programs run than it names, and lifts
// what asks.
func (s *subject) allows(p *pattern) bool {
	if grant := p.rule.grant; grant != nil {
		return grant.holds(s.call.Now) && grant.liftsAll(s.lifting) && (s.kind != asShell || p.checkProgram() == nil)
	}
	if p.rule.when == nil {
		return true
	}
	held, err := p.rule.when.holds(s)
	return err == nil && held
}

// failed notes a condition that could not be evaluated.
func (s *subject) failed(p *pattern, err error) {
	text := fmt.Sprintf("The condition of the rule at %s cannot be evaluated, which counts as true: %s.",
		p.where, match.Visible(strings.TrimSuffix(err.Error(), ".")))
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}
