package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// maxConsumers is the number of consumers that clients with one name may have, of both streams together.
const maxConsumers = 16

// metadataOwner is the key of a consumer's metadata with the name of the client that made it.
const metadataOwner = "heldcall.owner"

// createTimeout is the time limit for the creation of one consumer.
const createTimeout = 5 * time.Second

// ConsumerService creates pull consumers for bots. With a push consumer, a bot could choose
// a subject on which the account of heldcall publishes.
type ConsumerService struct {
	conn  *natsgo.Conn // in the account of consumers
	own   *natsgo.Conn
	log   *slog.Logger
	ended chan struct{}

	creating sync.Mutex // held while a consumer is counted and created
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
		if _, err := conn.Subscribe(servedPrefix+subject, c.create); err != nil {
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
	if msg.Reply == "" {
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
	c.creating.Lock()
	defer c.creating.Unlock()
	if err := c.assign(&request, requester(msg)); err != nil {
		answer(429, "%v", err)
		return
	}
	text, err := json.Marshal(request)
	if err != nil {
		answer(400, "not a consumer request: %v", err)
		return
	}
	reply, err := c.own.Request(strings.TrimPrefix(msg.Subject, servedPrefix), text, createTimeout)
	if err != nil {
		answer(503, "no reply from JetStream: %v", err)
		return
	}
	if err := msg.Respond(reply.Data); err != nil {
		c.log.Debug("answer a bot", "error", err)
	}
}

// requester returns the name of the client that sent a request, which the server writes when the request changes the
// account. A client without credentials has that of all such clients.
func requester(msg *natsgo.Msg) string {
	var client server.ClientInfo
	if err := json.Unmarshal([]byte(msg.Header.Get(server.ClientInfoHdr)), &client); err != nil || client.User == "" {
		return botUser
	}
	return client.User
}

// assign writes the owner of a consumer into its metadata. It returns an error if the owner has too many already. A
// consumer that exists stays its owner's.
func (c *ConsumerService) assign(request *server.CreateConsumerRequest, owner string) error {
	ctx, cancel := context.WithTimeout(context.Background(), createTimeout)
	defer cancel()
	js, err := jetstream.New(c.own)
	if err != nil {
		return fmt.Errorf("count the consumers: %w", err)
	}
	metadata := maps.Clone(request.Config.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	request.Config.Metadata = metadata
	metadata[metadataOwner] = owner
	name, count := cmp.Or(request.Config.Durable, request.Config.Name), 0
	for _, streamName := range botStreams {
		stream, err := js.Stream(ctx, streamName)
		if err != nil {
			return fmt.Errorf("count the consumers: %w", err)
		}
		list := stream.ListConsumers(ctx)
		for info := range list.Info() {
			if streamName == request.Stream && info.Name == name {
				delete(metadata, metadataOwner)
				if first, exists := info.Config.Metadata[metadataOwner]; exists {
					metadata[metadataOwner] = first
				}
				return nil
			}
			if info.Config.Metadata[metadataOwner] == owner {
				count++
			}
		}
		if err := list.Err(); err != nil {
			return fmt.Errorf("count the consumers: %w", err)
		}
	}
	if count >= maxConsumers {
		return fmt.Errorf("%s has %d consumers, which is the limit: use one of them again, or let those end that nobody reads (inactive_threshold)", owner, count)
	}
	return nil
}
