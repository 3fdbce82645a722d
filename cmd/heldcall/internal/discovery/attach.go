package discovery

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/heldcall/heldcall/internal/sanitize"
)

const (
	// maxAttached bounds the agents that are attached at once: each has a listener.
	maxAttached = 64
	maxName     = 1 << 10 // bytes of the name of an agent: the names of all fit into an answer
)

// Attachment is an attached agent, as the run that serves it has it.
type Attachment interface {
	// Proxy returns the host:port for the agent's requests to models.
	Proxy() string
	// Events returns the channel with the events about the agent's calls.
	Events() <-chan Notice
	// Leave ends the service and returns what came from the agent.
	Leave() Report
}

// attach serves an agent until its connection ends.
func (s *Server) attach(conn net.Conn, agent Agent) {
	reason := s.refusal(agent)
	if reason == "" {
		reason = s.join(&agent)
	}
	if reason != "" {
		write(conn, answer{Refused: reason})
		return
	}
	defer s.leave(&agent)
	served, err := s.options.Attach(s.ctx, agent)
	if err != nil {
		write(conn, answer{Refused: err.Error()})
		return
	}
	s.serves(&agent, served.Proxy())
	write(conn, answer{Attached: &Addresses{Proxy: served.Proxy(), Inbox: s.options.About.Inbox}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = conn.SetReadDeadline(time.Time{})
		if s.ctx.Err() == nil {
			_, _ = io.Copy(io.Discard, conn) // until the agent has ended, or its process
		}
	}()
	for {
		select {
		case notice := <-served.Events():
			write(conn, answer{Notice: &notice})
		case <-ended:
			report := served.Leave()
			write(conn, answer{Report: &report})
			return
		}
	}
}

// refusal returns the reason why an agent is not attached, "" if there is none.
func (s *Server) refusal(agent Agent) string {
	switch {
	case s.options.Attach == nil:
		return "it serves its own agent only"
	case agent.Version != s.options.About.Version:
		return fmt.Sprintf("it is heldcall %s, and this one is %s", s.options.About.Version, agent.Version)
	case agent.Config != s.options.Config:
		return "its configuration file has changed since it was started"
	case len(agent.Name) > maxName || sanitize.Line(agent.Name) != agent.Name: // it may look like the name of another
		return "the name of the agent cannot be shown"
	}
	return ""
}

// join counts an agent as attached, or returns the reason why it is not.
func (s *Server) join(agent *Agent) (reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return "it is ending"
	case len(s.attached) >= maxAttached:
		return fmt.Sprintf("it serves %d others already", maxAttached)
	}
	s.attached[agent] = ""
	return ""
}

// serves notes where an attached agent is served.
func (s *Server) serves(agent *Agent, port string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attached[agent] = port
}

func (s *Server) leave(agent *Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.attached, agent)
	close(s.changed)
	s.changed = make(chan struct{})
}

// agents returns the names and the ports of all agents, attached or not.
func (s *Server) agents() (names []string, ports []Port) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, ports = slices.Clone(s.options.About.Agents), slices.Clone(s.options.About.Ports)
	for agent, port := range s.attached {
		names = append(names, agent.Name)
		if port != "" {
			ports = append(ports, Port{agent.Folder, port})
		}
	}
	slices.Sort(names)
	return names, ports
}

// Attached returns the number of attached agents.
func (s *Server) Attached() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.attached)
}

// Drain waits until no agent is attached, and refuses all agents from then on. It returns earlier when
// the context ends.
func (s *Server) Drain(ctx context.Context) {
	for s != nil {
		s.mu.Lock()
		changed := s.changed
		if len(s.attached) == 0 {
			s.closed = true
		}
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
