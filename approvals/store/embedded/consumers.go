package embedded

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// createTimeout is the time limit for the creation of one consumer.
const createTimeout = 5 * time.Second

// ConsumerService creates pull consumers for bots. With a push consumer, a bot could choose
// a subject on which the account of heldcall publishes.
type ConsumerService struct {
	conn  *natsgo.Conn // in the bots' account
	own   *natsgo.Conn
	log   *slog.Logger
	ended chan struct{}
}

// ServeConsumers serves the bots of a server until the service is closed. own is the
// connection of heldcall itself to the server.
func (s *Server) ServeConsumers(own *natsgo.Conn, log *slog.Logger) (*ConsumerService, error) {
	c := &ConsumerService{own: own, log: log, ended: make(chan struct{})}
	options := append(s.connectOptions(serviceUser),
		natsgo.Name("heldcall consumer service"),
		natsgo.MaxReconnects(-1),
		natsgo.ClosedHandler(func(*natsgo.Conn) { close(c.ended) }))
	conn, err := natsgo.Connect("", options...)
	if err != nil {
		return nil, fmt.Errorf("serve the consumers of bots: %w", err)
	}
	c.conn = conn
	for _, subject := range botConsumers() {
		if _, err := conn.Subscribe(subject, c.create); err != nil {
			c.Close()
			return nil, fmt.Errorf("serve the consumers of bots: %w", err)
		}
	}
	if err := conn.Flush(); err != nil {
		c.Close()
		return nil, fmt.Errorf("serve the consumers of bots: %w", err)
	}
	return c, nil
}

// Close ends the service and waits for its last callback.
func (c *ConsumerService) Close() {
	c.conn.Close()
	<-c.ended
}

// create passes the request of a bot for a pull consumer to JetStream. It encodes the decoded
// request again: the server would read the text of the bot leniently too.
func (c *ConsumerService) create(msg *natsgo.Msg) {
	if !strings.HasPrefix(msg.Reply, "_INBOX.") {
		return
	}
	var request server.CreateConsumerRequest
	answer := func(code int, format string, args ...any) {
		text, err := json.Marshal(&server.JSApiConsumerCreateResponse{ApiResponse: server.ApiResponse{
			Type:  server.JSApiConsumerCreateResponseType,
			Error: &server.ApiError{Code: code, Description: fmt.Sprintf(format, args...)},
		}})
		if err == nil {
			err = msg.Respond(text)
		}
		if err != nil {
			c.log.Debug("answer a bot", "error", err)
		}
	}
	if err := json.Unmarshal(msg.Data, &request); err != nil {
		answer(400, "not a consumer request: %v", err)
		return
	}
	if request.Config.DeliverSubject != "" {
		answer(403, "heldcall allows pull consumers only: leave deliver_subject out")
		return
	}
	if strings.HasPrefix(request.Config.Durable, subjects.ChannelConsumerPrefix) || strings.HasPrefix(request.Config.Name, subjects.ChannelConsumerPrefix) {
		answer(403, "names that begin with %s are reserved for channels: choose another", subjects.ChannelConsumerPrefix)
		return
	}
	text, err := json.Marshal(request)
	if err != nil {
		answer(400, "not a consumer request: %v", err)
		return
	}
	reply, err := c.own.Request(msg.Subject, text, createTimeout)
	if err != nil {
		answer(503, "no reply from JetStream: %v", err)
		return
	}
	if err := msg.Respond(reply.Data); err != nil {
		c.log.Debug("answer a bot", "error", err)
	}
}
