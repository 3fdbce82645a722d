package nats

import (
	"context"
	"fmt"
	"strings"

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
		options := []micro.EndpointOpt{micro.WithEndpointSubject(e.wildcard()), micro.WithEndpointMetadata(map[string]string{"about": e.About})}
		if err := service.AddEndpoint(e.microName(), s.handler(e), options...); err != nil {
			return fmt.Errorf("start the endpoint %s: %w", e.Name, err)
		}
	}
	return nil
}

func (s *Service) handler(e endpoint) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		if !mayReply(req.Reply()) {
			s.log.Warn("message dropped: its reply subject is not a client's", "subject", req.Subject(), "reply", req.Reply())
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, queryTimeout)
		defer cancel()
		reply, err := s.guarded(req.Subject(), func() (any, error) { return s.answers.handle(ctx, e, req.Subject(), req.Data()) })
		var payload []byte
		if err == nil {
			payload, err = encode(reply)
		}
		if err == nil {
			err = req.Respond(payload)
		} else {
			s.log.Info("a query over NATS failed", "subject", req.Subject(), "error", err)
			err = refuse(req, failureOf(err))
		}
		if err != nil {
			s.log.Warn("cannot reply to a message from NATS", "subject", req.Subject(), "error", err)
		}
	})
}

// refuse replies with a failure, in the body and in the headers of micro.
func refuse(req micro.Request, failure Failure) error {
	payload, err := encode(failure)
	if err != nil {
		return err
	}
	oneLine := strings.Join(strings.Fields(failure.Message), " ")
	return req.Error(failure.Code, oneLine, payload)
}
