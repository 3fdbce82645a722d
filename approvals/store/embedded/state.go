package embedded

import (
	"errors"
	"fmt"
	"maps"

	"github.com/nats-io/nats-server/v2/server"
)

// startFirst starts the server on the state of an earlier heldcall, and checks the state.
func (s *Server) startFirst() error {
	dir, accept := folder(s.opts.Dir), s.opts.AcceptLoss
	recorded, unrecorded, err := dir.read(s.opts.Unrecorded)
	if err != nil {
		return fmt.Errorf("read the recorded states of the streams: %w", err)
	}
	s.recorded = recorded
	damaged, err := recorded.check(dir, false)
	if err != nil {
		return fmt.Errorf("check the state in %s: %w", s.opts.Dir, err)
	}
	s.losses = append(unrecorded, damaged...)
	if len(s.losses) > 0 {
		lost := &LossError{s.opts.Dir, s.losses}
		if !accept {
			return lost
		}
		s.logLoss(lost)
		if _, err := recorded.check(dir, true); err != nil {
			return fmt.Errorf("remove damaged records in %s: %w", s.opts.Dir, err)
		}
	}
	if err := s.eraseOlder(); err != nil {
		return err
	}
	if err := s.start(s.opts.Listen); err != nil {
		return err
	}
	_, err = s.verify()
	var lost *LossError
	if !errors.As(err, &lost) {
		return err
	}
	if !accept {
		return err
	}
	if len(s.losses) == 0 {
		s.logLoss(lost)
		s.losses = lost.Losses
	}
	s.recorded = manifest{}
	return nil
}

func (s *Server) logLoss(lost *LossError) {
	s.opts.Log.Warn("continuing with a state that is damaged or incomplete", "folder", s.opts.Dir, "loss", lost.Details())
}

// states returns the state of each stream that the server keeps on disk.
func (s *Server) states() (map[string]streamState, error) {
	s.mu.RLock()
	srv := s.server
	s.mu.RUnlock()
	info, err := srv.Jsz(&server.JSzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Streams: true, Config: true})
	if err == nil && info.Disabled {
		err = errors.New("the server has stopped its storage")
	}
	if err != nil {
		return nil, fmt.Errorf("read the states of the streams: %w", err)
	}
	states := map[string]streamState{}
	for _, account := range info.AccountDetails {
		for _, stream := range account.Streams {
			if stream.Config.Storage == server.MemoryStorage {
				continue
			}
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
