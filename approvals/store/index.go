package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/requestindex"
)

// indexFile is the index of the requests in the folder of the embedded server.
const indexFile = "heldcall.index"

// openIndex opens the index of the requests. With an external server the index begins empty.
func (s *Store) openIndex(requests jetstream.Stream, o Options) (*requestindex.Index, error) {
	info := requests.CachedInfo()
	source := requestindex.Source{ID: info.Created.UTC().Format(time.RFC3339Nano), Last: info.State.LastSeq}
	if s.server.local == nil {
		return requestindex.OpenScratch(o.Scratch, source, o.Log)
	}
	path := filepath.Join(o.Dir, indexFile)
	if s.Loss() != "" { // the index may have records that were lost
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("remove the index of the requests: %w", err)
		}
	}
	return requestindex.Open(path, source, o.Log)
}
