package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Bots on loopback live in an account of their own. From there they reach the
// subjects below and nothing else: neither by publishing, nor by a reply subject
// or a consumer's deliver subject that makes somebody with more rights write for
// them. Such subjects lead nowhere in the bots' account.
const botAccount = "BOTS"

// botStreams are the streams that bots read.
var botStreams = []string{StreamRequests, StreamEvents}

// botServices are the subjects that bots without credentials send requests to.
func botServices() []string {
	return append(ReviewerServices(reviewers.Local()), botReads()...)
}

// botReads are the subjects on which every bot asks for what there is.
func botReads() []string {
	services := append(ReadingServices(), "$JS.API.INFO", "$JS.API.STREAM.NAMES")
	for _, stream := range botStreams {
		services = append(services,
			"$JS.API.STREAM.INFO."+stream,
			"$JS.API.STREAM.MSG.GET."+stream,
			"$JS.API.DIRECT.GET."+stream,
			"$JS.API.DIRECT.GET."+stream+".>",
			"$JS.API.CONSUMER.INFO."+stream+".*",
			"$JS.API.CONSUMER.NAMES."+stream,
			"$JS.API.CONSUMER.MSG.NEXT."+stream+".*",
			"$JS.ACK."+stream+".>",
		)
	}
	return services
}

// botConsumers are the subjects on which bots ask for a consumer. They end at
// the door, which lets pull consumers through.
func botConsumers() []string {
	var subjects []string
	for _, stream := range botStreams {
		subjects = append(subjects,
			"$JS.API.CONSUMER.CREATE."+stream,
			"$JS.API.CONSUMER.CREATE."+stream+".>",
			"$JS.API.CONSUMER.DURABLE.CREATE."+stream+".*",
		)
	}
	return subjects
}

// notForBots are the subjects on which somebody could take what a channel is to be
// told: those of the consumers that channels read with.
func notForBots(channels []string) []string {
	var subjects []string
	for _, channel := range channels {
		consumer := StreamEvents + "." + consumerPrefix + Token(channel)
		subjects = append(subjects,
			"$JS.API.CONSUMER.MSG.NEXT."+consumer,
			"$JS.ACK."+consumer+".>",
			"$JS.API.CONSUMER.CREATE."+consumer,
			"$JS.API.CONSUMER.CREATE."+consumer+".>",
			"$JS.API.CONSUMER.DURABLE.CREATE."+consumer,
		)
	}
	return subjects
}

// botPermissions are the rights of a client on loopback without credentials: to
// read requests and events, to decide, to signal and to grant as the reviewer
// "local", and to ask the micro service.
func botPermissions(channels []string) *server.Permissions {
	return permissions(botServices(), channels)
}

// permissions are the rights of a bot that sends requests to services.
func permissions(services, channels []string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: append(services, botConsumers()...), Deny: notForBots(channels)},
		Subscribe: &server.SubjectPermission{Allow: append([]string{"_INBOX.>"}, botFeeds...)},
	}
}

// shareWithBots exports to the bots' account what bots may reach. Which of it each
// of them may is a matter of their own rights.
func shareWithBots(srv *server.Server, services []string) error {
	own := srv.GlobalAccount()
	bots, err := srv.LookupAccount(botAccount)
	if err != nil {
		return fmt.Errorf("set up the bots' account: %w", err)
	}
	only := []*server.Account{bots}
	for _, subject := range services {
		err := errors.Join(
			own.AddServiceExportWithResponse(subject, server.Streamed, only),
			bots.AddServiceImport(own, subject, subject),
		)
		if err != nil {
			return fmt.Errorf("share %s with bots: %w", subject, err)
		}
	}
	for _, subject := range botFeeds {
		err := errors.Join(
			own.AddStreamExport(subject, only),
			bots.AddStreamImport(own, subject, ""),
		)
		if err != nil {
			return fmt.Errorf("share %s with bots: %w", subject, err)
		}
	}
	return nil
}

// botDoor creates consumers for bots. A consumer that pushes would let its maker
// choose a subject that heldcall's own account delivers on.
type botDoor struct {
	conn  *natsgo.Conn // in the bots' account
	own   *natsgo.Conn
	log   *slog.Logger
	ended chan struct{}
}

func openDoor(e *embedded, own *natsgo.Conn, log *slog.Logger) (*botDoor, error) {
	d := &botDoor{own: own, log: log, ended: make(chan struct{})}
	conn, err := natsgo.Connect("",
		natsgo.Name("heldcall door"),
		natsgo.InProcessServer(e),
		natsgo.UserInfo(doorUser, e.password),
		natsgo.Timeout(ownTimeout),
		natsgo.MaxReconnects(-1),
		natsgo.ClosedHandler(func(*natsgo.Conn) { close(d.ended) }))
	if err != nil {
		return nil, fmt.Errorf("open the bots' door: %w", err)
	}
	d.conn = conn
	for _, subject := range botConsumers() {
		if _, err := conn.Subscribe(subject, d.createConsumer); err != nil {
			d.close()
			return nil, fmt.Errorf("open the bots' door: %w", err)
		}
	}
	if err := conn.Flush(); err != nil {
		d.close()
		return nil, fmt.Errorf("open the bots' door: %w", err)
	}
	return d, nil
}

func (d *botDoor) close() {
	d.conn.Close()
	<-d.ended
}

// createConsumer hands a bot's wish for a pull consumer on to JetStream, as far
// as it was understood: the server reads JSON as leniently as we do.
func (d *botDoor) createConsumer(msg *natsgo.Msg) {
	if !strings.HasPrefix(msg.Reply, "_INBOX.") {
		return
	}
	var wish server.CreateConsumerRequest
	answer := func(code int, format string, args ...any) {
		text, err := json.Marshal(&server.JSApiConsumerCreateResponse{ApiResponse: server.ApiResponse{
			Type:  server.JSApiConsumerCreateResponseType,
			Error: &server.ApiError{Code: code, Description: fmt.Sprintf(format, args...)},
		}})
		if err == nil {
			err = msg.Respond(text)
		}
		if err != nil {
			d.log.Debug("answer a bot", "error", err)
		}
	}
	if err := json.Unmarshal(msg.Data, &wish); err != nil {
		answer(400, "not a consumer request: %v", err)
		return
	}
	if wish.Config.DeliverSubject != "" {
		answer(403, "heldcall allows pull consumers only: leave deliver_subject out")
		return
	}
	if strings.HasPrefix(wish.Config.Durable, consumerPrefix) || strings.HasPrefix(wish.Config.Name, consumerPrefix) {
		answer(403, "the names that begin with %s are those of heldcall's channels: choose another", consumerPrefix)
		return
	}
	text, err := json.Marshal(wish)
	if err != nil {
		answer(400, "not a consumer request: %v", err)
		return
	}
	reply, err := d.own.Request(msg.Subject, text, 5*time.Second)
	if err != nil {
		answer(503, "JetStream does not answer: %v", err)
		return
	}
	if err := msg.Respond(reply.Data); err != nil {
		d.log.Debug("answer a bot", "error", err)
	}
}
