//go:build replicas && unix

package store_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

func TestContract_ReplicasOnACluster(t *testing.T) {
	contract(t, store.Options{URL: natscluster.Start(t, 3).URLs(), Scratch: t.TempDir()})
}
