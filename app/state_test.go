package app_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

const streamsFolder = "jetstream/$G/streams"

// restored is a copy of a state in which one stream, and the record of the states of the streams, are
// those of an older copy.
func restored(t *testing.T, now, older recorded, stream string) app.Config {
	t.Helper()
	c := now.copyState(t)
	folder := filepath.Join(streamsFolder, stream)
	states, err := os.ReadFile(filepath.Join(older.config.NATS.Dir, "heldcall.streams"))
	if err := errors.Join(
		err,
		os.RemoveAll(filepath.Join(c.NATS.Dir, folder)),
		os.CopyFS(filepath.Join(c.NATS.Dir, folder), os.DirFS(filepath.Join(older.config.NATS.Dir, folder))),
		os.WriteFile(filepath.Join(c.NATS.Dir, "heldcall.streams"), states, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOlderStateIsFoundAtTheStart: heldcall does not start if a bucket of the state is an older copy,
// or an emptied one, and verify names the difference. It starts with AcceptLoss, and then without.
func TestOlderStateIsFoundAtTheStart(t *testing.T) {
	var older, now recorded
	staff := team{}
	w := build(t, askAll, callThenText, staff.with("ann", "reviewer"), staff.with("bob", "reviewer"), staff.with("ada", "admin"), restarting(&now.config))
	w.console = w.as(staff["ada"])
	revoked, err := w.console.AddGrant(t.Context(), approvals.Grant{Effect: approvals.GrantAllow, Principal: approvals.Principal{Tenant: "default"}, Patterns: []string{"bash(ls)"}})
	if err != nil {
		t.Fatal(err)
	}
	delegate := func() approvals.Delegation {
		t.Helper()
		d, err := w.console.Delegate(t.Context(), approvals.Delegation{From: "ann", To: "bob", Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	ended := delegate()
	w.post("/v1/chat/completions", wholeRequest, "X-Heldcall-Run", "r1")
	request := w.pending(1)[0]
	signal := func(action approvals.SignalAction) {
		t.Helper()
		if _, err := w.console.Runs().Signal(t.Context(), approvals.Signal{RunID: "r1", Action: action}); err != nil {
			t.Fatal(err)
		}
	}
	signal(approvals.SignalPause)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	older.config = now.copyState(t)
	w.start(now.config)
	w.console = w.as(staff["ada"])
	signal(approvals.SignalResume)
	c := w.post("/v1/chat/completions", wholeRequest, "X-Heldcall-Run", "r1")
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
	c.rest()
	signal(approvals.SignalAbort)
	if _, err := w.console.Runs().SignalPrincipal(t.Context(), approvals.PrincipalSignalPayload{Principal: approvals.Principal{Agent: "coder"}, Action: approvals.SignalPause}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.console.RevokeGrant(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	denied, err := w.console.AddGrant(t.Context(), approvals.Grant{Effect: approvals.GrantDeny, Principal: approvals.Principal{Tenant: "default"}, Patterns: []string{"bash(rm *)"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.console.RevokeDelegation(t.Context(), ended.ID); err != nil {
		t.Fatal(err)
	}
	delegated := delegate()
	if found, err := w.console.StateDifferences(t.Context()); err != nil || len(found) > 0 {
		t.Fatalf("the state of a running heldcall: %v, %v", found, err)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := startOnce(t, now.copyState(t), false); err != nil {
		t.Fatalf("the state as it is: %v", err)
	}
	for stream, want := range map[string][]string{
		"KV_heldcall_runs":        {"run r1 is paused", "aborted"},
		"KV_heldcall_signals":     {"signal 0:0:5:coder is missing"},
		"KV_heldcall_grants":      {"grant " + revoked.ID + " is in force", "grant " + denied.ID + " is missing"},
		"KV_heldcall_delegations": {"delegation " + ended.ID + " is in force", "delegation " + delegated.ID + " is missing"},
		"KV_heldcall_requests":    {"request " + request.ID + " has 0 decisions, and the log has 1"},
	} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			c := restored(t, now, older, stream)
			_, err := startOnce(t, c, false)
			var differs *audit.StateError
			if !errors.As(err, &differs) || !strings.Contains(err.Error(), "--accept-loss") {
				t.Fatalf("the start fails with %v", err)
			}
			for _, part := range want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
			if _, err := startOnce(t, c, true); err != nil {
				t.Fatalf("with the loss accepted: %v", err)
			}
			if _, err := startOnce(t, c, false); err != nil {
				t.Errorf("after the loss was accepted: %v", err)
			}
		})
	}
}

// TestStateOfAnEarlierVersion: a state of a version that wrote neither heldcall.streams nor checkpoints starts
// without an accepted loss, and its grant, which has no end, is in force. One that has lost heldcall.streams since does not.
func TestStateOfAnEarlierVersion(t *testing.T) {
	var c app.Config
	w := build(t, askAll, callThenText, func(configured *app.Config) {
		embedded(configured)
		configured.Audit.Retention = 100 * 365 * 24 * time.Hour
		if err := unpack("testdata/state-7e2f311.tgz", configured.NATS.Dir); err != nil {
			t.Fatal(err)
		}
		c = *configured
	})
	if found, err := w.console.Grants(t.Context(), approvals.GrantFilter{}); err != nil || len(found.Items) != 1 || found.Items[0].Patterns[0] != "bash(ls)" {
		t.Errorf("the grants are %v, %v", found, err)
	}
	if found, err := w.console.StateDifferences(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("the state differs from the log: %v, %v", found, err)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := startOnce(t, c, false); err != nil {
		t.Errorf("the second start: %v", err)
	}
	if err := os.Remove(filepath.Join(c.NATS.Dir, "heldcall.streams")); err != nil {
		t.Fatal(err)
	}
	if _, err := startOnce(t, c, false); err == nil || !strings.Contains(err.Error(), "heldcall.streams") {
		t.Errorf("without heldcall.streams the start fails with %v", err)
	}
}

// unpack writes the files of an archive to a folder.
func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for files := tar.NewReader(plain); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		if head.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		content, err := io.ReadAll(files)
		if err := errors.Join(err, os.WriteFile(path, content, 0o600)); err != nil {
			return err
		}
	}
}
