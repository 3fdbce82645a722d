package store

import "time"

// Names of the buckets in NATS.
const (
	BucketRequests    = "heldcall_requests"
	BucketTurns       = "heldcall_turns"
	BucketGrants      = "heldcall_grants"
	BucketRuns        = "heldcall_runs"
	BucketSignals     = "heldcall_signals" // by principal
	BucketDelegations = "heldcall_delegations"
	BucketDeliveries  = "heldcall_notify" // the state of channels
	BucketPush        = "heldcall_push"   // subscriptions to Web Push, and keys
	BucketLimits      = "heldcall_limits" // counts of policy limits
	BucketHeld        = "heldcall_held"   // snapshots of held turns
	BucketHeldStates  = "heldcall_held_states"
	BucketLeases      = "heldcall_leases"       // of processes
	BucketHeldObjects = "heldcall_held_objects" // an object store: large snapshots of held turns
)

// DelegationTTL is the time for which a delegation is kept after it was written: longer
// than a delegation may last.
const DelegationTTL = 366 * 24 * time.Hour
