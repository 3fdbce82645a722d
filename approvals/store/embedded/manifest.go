package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
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
// was deleted.
func (f folder) read() (manifest, []Loss, error) {
	m := manifest{Streams: map[string]streamState{}}
	content, err := os.ReadFile(f.path(manifestFile))
	if err == nil {
		if err := json.Unmarshal(content, &m); err != nil {
			return m, []Loss{{File: manifestFile, Problem: err.Error()}}, nil
		}
		return m, nil, nil
	}
	streams, listErr := f.streams()
	switch {
	case !errors.Is(err, fs.ErrNotExist) || listErr != nil:
		return m, nil, errors.Join(err, listErr)
	case len(streams) > 0:
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

// writeFile replaces a file, and syncs it.
func writeFile(path string, content []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
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

// states returns the state of each stream of the server.
func (s *Server) states() (map[string]streamState, error) {
	s.mu.RLock()
	srv := s.server
	s.mu.RUnlock()
	info, err := srv.Jsz(&server.JSzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Streams: true})
	if err == nil && info.Disabled {
		err = errors.New("the server has stopped its storage")
	}
	if err != nil {
		return nil, fmt.Errorf("read the states of the streams: %w", err)
	}
	states := map[string]streamState{}
	for _, account := range info.AccountDetails {
		for _, stream := range account.Streams {
			state := streamState{First: stream.State.FirstSeq, Last: stream.State.LastSeq, Oldest: stream.State.FirstTime}
			age, kept := s.opts.Kept[stream.Name]
			if kept {
				state.Messages, state.MaxAge = stream.State.Msgs, age
			}
			states[stream.Name] = state
		}
	}
	return states, nil
}

// verify compares the streams with their recorded states.
func (s *Server) verify() (map[string]streamState, error) {
	states, err := s.states()
	if err != nil {
		return nil, err
	}
	if losses := s.recorded.missing(states); len(losses) > 0 {
		return states, &LossError{s.opts.Dir, losses}
	}
	return states, nil
}

// Record writes the states of the streams beside them if they have changed, so that the next
// start can check that nothing is missing.
func (s *Server) Record() error {
	s.recording.Lock()
	defer s.recording.Unlock()
	states, err := s.verify()
	if err != nil || maps.Equal(states, s.recorded.Streams) {
		return err
	}
	next := manifest{states}
	if err := folder(s.opts.Dir).write(next); err != nil {
		return fmt.Errorf("record the states of the streams: %w", err)
	}
	s.recorded = next
	return nil
}
