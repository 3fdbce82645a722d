package rule

import (
	"fmt"
	"reflect"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"github.com/heldcall/heldcall/approvals"
)

// maxCost bounds the cost of a condition, in units of CEL: some milliseconds.
const maxCost = 20_000

// Condition is the when of a rule.
type Condition struct {
	source  string
	program cel.Program
}

func (c *Condition) text() string {
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

// conditions is the environment of conditions.
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
		cel.Variable("run.tainted", cel.BoolType),
		cel.Variable("model", cel.StringType),
		cel.Variable("dialect", cel.StringType),
		cel.Variable("subagent", cel.StringType),
		cel.Variable("risk", cel.StringType),
		cel.Variable("now", cel.TimestampType),
	)
})

func newCondition(source string) (*Condition, error) {
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
	return &Condition{source, program}, nil
}

// Holds reports whether the condition is true. It returns an error if evaluation fails, such as for
// a missing field.
func (c *Condition) Holds(variables map[string]any) (bool, error) {
	out, _, err := c.program.Eval(variables)
	if err != nil {
		return false, err
	}
	if held, ok := out.Value().(bool); ok {
		return held, nil
	}
	return false, fmt.Errorf("it is %s and must be true or false", out.Type().TypeName())
}
