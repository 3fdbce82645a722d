package embedded

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// botAccount is the account of bots. From it they reach the subjects below and nothing else:
// not by publishing, and not by a reply subject or the deliver subject of a consumer, on
// which a client with more rights would publish for them. In the account of bots, such
// subjects have no subscribers.
const botAccount = "BOTS"

// consumerAccount is the account of [ConsumerService]. Requests reach it from the account of bots with the name of the
// client, which the server writes.
const consumerAccount = "CONSUMERS"

// servedPrefix begins the subjects of JetStream in that account, where the server answers those without it itself.
const servedPrefix = "consumers."

// botStreams has the streams that bots read.
var botStreams = []string{subjects.StreamRequests, subjects.StreamEvents}

// botServices returns the subjects to which bots without credentials may send requests.
func botServices() []string {
	return append(subjects.ReviewerServices(reviewers.Local()), botReads()...)
}

// botReads returns the subjects by which every bot may read.
func botReads() []string {
	services := append(subjects.ReadingServices(), "$JS.API.INFO", "$JS.API.STREAM.NAMES")
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

// botConsumers returns the subjects by which bots create consumers. [ConsumerService] serves
// them, and creates pull consumers only.
func botConsumers() []string {
	var creating []string
	for _, stream := range botStreams {
		creating = append(creating,
			"$JS.API.CONSUMER.CREATE."+stream,
			"$JS.API.CONSUMER.CREATE."+stream+".>",
			"$JS.API.CONSUMER.DURABLE.CREATE."+stream+".*",
		)
	}
	return creating
}

// notForBots returns the subjects by which a client could take the messages of a channel:
// those of the consumers of channels.
func notForBots(channels []string) []string {
	var denied []string
	for _, channel := range channels {
		consumer := subjects.StreamEvents + "." + subjects.ChannelConsumer(channel)
		denied = append(denied,
			"$JS.API.CONSUMER.MSG.NEXT."+consumer,
			"$JS.ACK."+consumer+".>",
			"$JS.API.CONSUMER.CREATE."+consumer,
			"$JS.API.CONSUMER.CREATE."+consumer+".>",
			"$JS.API.CONSUMER.DURABLE.CREATE."+consumer,
		)
	}
	return denied
}

// botPermissions returns the rights of a client on loopback without credentials: to read
// requests and events, to decide, signal and grant as the reviewer "local", and to use the
// micro service.
func botPermissions(channels []string) *server.Permissions {
	return permissions(botServices(), channels)
}

// permissions returns the rights of a bot that may send requests to services.
func permissions(services, channels []string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: append(services, botConsumers()...), Deny: notForBots(channels)},
		Subscribe: &server.SubjectPermission{Allow: append([]string{"_INBOX.>"}, subjects.Feeds()...)},
	}
}

// shareWithBots exports the subjects of bots to the account of bots. The permissions of each
// bot limit them further.
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
	consumers, err := srv.LookupAccount(consumerAccount)
	if err != nil {
		return fmt.Errorf("set up the account of consumers: %w", err)
	}
	for _, subject := range botConsumers() {
		served := servedPrefix + subject
		err := errors.Join(
			consumers.AddServiceExport(served, only),
			bots.AddServiceImport(consumers, subject, served),
			bots.SetServiceImportSharing(consumers, served, true),
		)
		if err != nil {
			return fmt.Errorf("share %s with bots: %w", subject, err)
		}
	}
	for _, subject := range subjects.Feeds() {
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
