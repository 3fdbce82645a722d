package nats

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/micro"
)

// startMicro makes the service that $SRV.> discovers.
func (s *Service) startMicro(version string) error {
	service, err := micro.AddService(s.conn, micro.Config{
		Name:        ServiceName,
		Version:     version,
		Description: "Tool calls that need approval",
		QueueGroup:  QueueGroup,
	})
	if err != nil {
		return fmt.Errorf("start the micro service: %w", err)
	}
	s.micro = service
	for _, e := range endpoints() {
		if !e.Micro {
			continue
		}
		options := []micro.EndpointOpt{micro.WithEndpointSubject(e.wildcard()), micro.WithEndpointPendingLimits(e.maxQueuedCount(), e.maxQueued()), micro.WithEndpointMetadata(map[string]string{"about": e.About})}
		if err := service.AddEndpoint(e.microName(), s.handler(e), options...); err != nil {
			return fmt.Errorf("start the endpoint %s: %w", e.Name, err)
		}
	}
	return nil
}

// maxRest is the longest rest after a message.
const maxRest = 200 * time.Millisecond

// rest waits as long as the last message of an endpoint took: bots that ask for lists again and again get at most half
// of the time, and agents and reviewers need the store too.
func (s *Service) rest(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}

func (s *Service) handler(e endpoint) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		ctx, cancel := context.WithTimeout(s.ctx, queryTimeout)
		defer cancel()
		began := time.Now()
		defer func() { s.rest(min(time.Since(began), maxRest)) }()
		s.answer(ctx, e, req.Subject(), req.Reply(), req.Data(), func(payload []byte, failure *Failure) error {
			if failure == nil {
				return req.Respond(payload)
			}
			return req.Error(failure.Code, strings.Join(strings.Fields(failure.Message), " "), payload) // also in headers, which have one line
		})
	})
}
