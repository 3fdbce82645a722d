package app

import (
	"context"
	"log/slog"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/proxy"
)

// Options are the configuration of an [App] and what its program supplies.
type Options struct {
	Config     Config
	ConfigFile string // as the operator named it; it is read again; "" if there is none
	// KeepRights is for a program that has changed Config since it was read, and starts agents as the user to whom ConfigFile
	// belongs: a reload changes neither reviewers nor clients.
	KeepRights bool
	Log        *slog.Logger
	Version    string
	// Notice is called for each event that the gate has recorded, in place of [LogEvent]
	// with Log, and for approval_required with the request, which is nil if it cannot be read.
	// It must not block. Nil: LogEvent.
	Notice func(approvals.Event, *approvals.Request)

	// Sockets are ports that the supervisor of this process has opened.
	Sockets []Socket

	// AcceptLoss starts with a state that is damaged, and records the loss in the audit log.
	AcceptLoss bool
	// RevokePasskeys is a reviewer whose passkeys are revoked at the start; "": no one.
	RevokePasskeys string

	canary func(context.Context, *proxy.Proxy) error // tests the proxy at the start; nil: [proxy.Proxy.Canary]
	proxy  func(*proxy.Options)                      // changes them in tests, may be nil
	open   func() (*state, error)                    // the state of tests that need no server; nil: [openState]
}
