package turn

// State is where a turn is between two steps.
//
//	AskingResults ─> Screening ─┐
//	                            v
//	Preparing ─> Sending ─> Reading ─> Judging ─> Asking ─> Waiting ─> Deciding, Parking
//	               │  ^      ^ ^ │       │                                │
//	               v  │      │ │ v       v                                │
//	            Awaiting ────┘ │ │    Settling <──────────────────────────┘
//	                   Releasing │     │  │  ^
//	                             │     │  v  │
//	                             │     │ Paused, Following
//	                             v     v
//	                          Ending ─> Ended
//
// A turn begins in AskingResults or in Preparing. Settling goes back to Sending where the answer continues after a denial. Every state
// can go to Ending (an error that the agent can read) or Ended. A turn
// in Screening, Awaiting, Reading, Waiting, Paused or Following sends heartbeats and stays there; a step that waits for
// durable state sends them meanwhile.
type State int

// The states of a turn.
const (
	Ended         State = iota
	AskingResults       // requests about results of calls are recorded
	Screening           // people decide about results of calls
	Preparing           // requests that have to come first are sent
	Sending             // the upstream request is sent
	Awaiting            // the head of a continuation has not arrived
	Reading             // the body of the answer is read, and text passes to the agent
	Releasing           // a call of the stream is complete: it leaves if policy allows it
	Judging             // the answer is complete: policy judges its calls
	Asking              // the requests to people are recorded
	Waiting             // people decide
	Parking             // people have not decided in time: the answer ends with a notice
	Deciding            // their decisions become rulings
	Paused              // every call has a ruling, and people have paused the run
	Following           // another turn continues the stored answer that was fetched
	Settling            // every call has a ruling: it is recorded, then it takes effect
	Ending              // the last bytes have to be written
)

// states are the steps of a turn. Only Screening, Awaiting, Reading, Releasing, Asking, Waiting, Paused, Following and Settling
// write to the agent, and every state that ends the turn with an error.
var states = [...]struct {
	name string
	step func(*Turn) State
}{
	Ended:         {"ended", nil},
	AskingResults: {"asking about results", (*Turn).askResults},
	Screening:     {"screening", (*Turn).screen},
	Preparing:     {"preparing", (*Turn).sendBefore},
	Sending:       {"sending", (*Turn).send},
	Awaiting:      {"awaiting", (*Turn).await},
	Reading:       {"reading", (*Turn).read},
	Releasing:     {"releasing", (*Turn).release},
	Judging:       {"judging", (*Turn).judge},
	Asking:        {"asking", (*Turn).ask},
	Waiting:       {"waiting", (*Turn).wait},
	Parking:       {"parking", (*Turn).park},
	Deciding:      {"deciding", (*Turn).decide},
	Paused:        {"paused", (*Turn).awaitResume},
	Following:     {"following", (*Turn).follow},
	Settling:      {"settling", (*Turn).settle},
	Ending:        {"ending", func(*Turn) State { return Ended }},
}

// complete reports whether the upstream's answer was read to its end, so that a snapshot
// can continue.
func (s State) complete() bool { return s >= Judging && s <= Settling }

// String returns the name of the state.
func (s State) String() string { return states[s].name }
