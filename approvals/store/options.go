package store

import (
	"fmt"
	"log/slog"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/memory"
	"github.com/heldcall/heldcall/internal/privatefile"
)

// Names of the buckets in NATS.
const (
	BucketRequests    = "heldcall_requests"
	BucketTurns       = "heldcall_turns"
	BucketGrants      = "heldcall_grants"
	BucketRuns        = "heldcall_runs"
	BucketSignals     = "heldcall_signals" // by principal
	BucketDelegations = "heldcall_delegations"
	BucketDeliveries  = "heldcall_notify"  // the state of channels
	BucketPush        = "heldcall_push"    // subscriptions to Web Push, passkeys, and keys
	BucketLimits      = "heldcall_limits"  // counts of policy limits
	BucketSecrets     = "heldcall_secrets" // encrypted
	BucketHeld        = "heldcall_held"    // snapshots of held turns
	BucketHeldStates  = "heldcall_held_states"
	BucketLeases      = "heldcall_leases"       // of processes
	BucketHeldObjects = "heldcall_held_objects" // an object store: large snapshots of held turns
)

// DelegationTTL is the time for which a delegation is kept after it was written: longer
// than a delegation may last.
const DelegationTTL = 366 * 24 * time.Hour

// Options configures [Open]. The defaults of zero fields are named here.
type Options struct {
	// URL of an external NATS server or cluster, 2.12 or newer; several are separated by
	// commas. Empty: an embedded server.
	URL string
	// Files with credentials for URL: a credentials file, or an NKey seed file, and TLS
	// files.
	Creds, NKey            string
	TLSCA, TLSCert, TLSKey string
	Replicas               int    // copies in a cluster; 0: as many as it has servers, at most 3
	Listen                 string // of the embedded server, for bots; "" is 127.0.0.1:4143, "-" is nowhere
	Dir                    string // of the embedded server; "" is ./data
	// Scratch is the folder of the index of the requests if the server is external; "" is the
	// system's folder for temporary files. See [requestindex.OpenScratch].
	Scratch string
	// Reviewers may connect to the embedded server with their tokens, and publish under
	// their names. Nil: every client is the reviewer "local".
	Reviewers *reviewers.Directory
	// ReviewersOnly refuses clients without credentials. It needs Reviewers.
	ReviewersOnly bool
	Retention     time.Duration // of requests, runs and audit log; 0: 90 days
	MaxStored     int64         // bytes of held turns; 0: 1 GiB
	Channels      []string      // that receive events; bots may not use their consumers
	// AcceptLoss opens the state although a part of it is missing or damaged: see
	// [Store.Loss].
	AcceptLoss bool
	Memory     *memory.Budget // has what the embedded server keeps for bots that do not read; nil: no limit but its own
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:4143"
	}
	if o.Dir == "" {
		o.Dir = "./data"
	}
	if o.Retention == 0 {
		o.Retention = 90 * 24 * time.Hour
	}
	if o.MaxStored == 0 {
		o.MaxStored = 1 << 30
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// credentials returns the options for the authentication with an external server.
func credentials(o Options) ([]natsgo.Option, error) {
	var options []natsgo.Option
	for setting, file := range map[string]string{"creds": o.Creds, "nkey": o.NKey, "tls.key": o.TLSKey} {
		if file == "" {
			continue
		}
		if err := privatefile.Check(file); err != nil {
			return nil, fmt.Errorf("nats.%s: %w", setting, err)
		}
	}
	if o.Creds != "" {
		options = append(options, natsgo.UserCredentials(o.Creds))
	}
	if o.NKey != "" {
		option, err := natsgo.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, fmt.Errorf("nats nkey file: %w", err)
		}
		options = append(options, option)
	}
	if o.TLSCA != "" {
		options = append(options, natsgo.RootCAs(o.TLSCA))
	}
	if o.TLSCert != "" {
		options = append(options, natsgo.ClientCert(o.TLSCert, o.TLSKey))
	}
	return options, nil
}
