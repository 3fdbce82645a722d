package match

// Result is what a deny or ask pattern says of a call.
type Result int

const (
	No    Result = iota
	Maybe        // it cannot be told: the call must not be allowed
	Yes
)
