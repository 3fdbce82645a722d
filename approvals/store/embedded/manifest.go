package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// manifestFile has the state of the streams as heldcall last recorded it. The server's own
// files do not show that one of them is missing.
const manifestFile = "heldcall.streams"

type manifest struct {
	Streams map[string]streamState `json:"streams"`
}

// streamState is a lower bound of what a stream contains.
type streamState struct {
	First    uint64        `json:"first_seq"`
	Last     uint64        `json:"last_seq"`
	Messages uint64        `json:"messages"` // 0 for a stream whose messages are deleted in any order
	Oldest   time.Time     `json:"first_time"`
	MaxAge   time.Duration `json:"max_age"` // of messages, 0: without limit
}

// mayExpire reports whether messages may have been deleted by age since the state was
// recorded, under the limit of that time or the current one.
func (was streamState) mayExpire(current time.Duration) bool {
	for _, age := range []time.Duration{was.MaxAge, current} {
		if age > 0 && time.Since(was.Oldest) > age {
			return true
		}
	}
	return false
}

// read reads the manifest. A new folder gets an empty one, so that it is missing only if it
// was deleted. So does a folder with no other streams than unrecorded, those of the versions
// that wrote no manifest: versions with one make more streams, after the manifest.
func (f folder) read(unrecorded []string) (manifest, []Loss, error) {
	m := manifest{Streams: map[string]streamState{}}
	content, err := os.ReadFile(f.path(manifestFile))
	if err == nil {
		if damaged := json.Unmarshal(content, &m); damaged != nil {
			return m, []Loss{{File: manifestFile, Problem: damaged.Error()}}, nil //nolint:nilerr // a loss is no error
		}
		return m, nil, nil
	}
	streams, listErr := f.streams()
	recorded := slices.ContainsFunc(streams, func(name string) bool { return !slices.Contains(unrecorded, name) })
	switch {
	case !errors.Is(err, fs.ErrNotExist) || listErr != nil:
		return m, nil, errors.Join(err, listErr)
	case recorded:
		return m, []Loss{{File: manifestFile, Problem: "the file is missing, so that missing records would not be noticed"}}, nil
	}
	return m, nil, f.write(m)
}

func (f folder) write(m manifest) error {
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeFile(f.path(manifestFile), content)
}

// check reads all records of the streams before a server changes the files, and returns the losses
// since the recorded state. With repair it removes damaged records, so that the server
// uses the rest. An unfinished write at the end of a stream is no loss: it was not
// acknowledged.
func (m manifest) check(f folder, repair bool) (losses []Loss, err error) {
	names, err := f.streams()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Streams)) {
		if !slices.Contains(names, name) {
			losses = append(losses, Loss{Stream: name, File: filepath.Join(streamsFolder, name), Seq: m.Streams[name].First, Problem: "the stream is missing"})
		}
	}
	found := make([][]Loss, len(names))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		group.Go(func() (err error) {
			if found[i], err = f.checkStream(name, m.Streams[name].Last, repair); err != nil {
				err = fmt.Errorf("check the stream %s: %w", name, err)
			}
			return err
		})
	}
	err = group.Wait()
	return append(losses, slices.Concat(found...)...), err
}

// missing compares the streams of a server with the recorded state.
func (m manifest) missing(now map[string]streamState) (losses []Loss) {
	for _, name := range slices.Sorted(maps.Keys(m.Streams)) {
		was, is := m.Streams[name], now[name]
		least := was.Messages
		if was.mayExpire(is.MaxAge) {
			least -= min(least, is.First-min(is.First, was.First))
		}
		loss := Loss{Stream: name, File: filepath.Join(streamsFolder, name, "msgs")}
		switch {
		case is.Last < was.Last:
			loss.Seq, loss.Problem = is.Last+1, fmt.Sprintf("records up to sequence %d are missing at the end", was.Last)
		case is.Messages < least:
			loss.Problem = fmt.Sprintf("%d of %d records are missing", least-is.Messages, was.Messages)
			if is.First > was.First {
				loss.Seq = was.First
			}
		default:
			continue
		}
		losses = append(losses, loss)
	}
	return losses
}
