package embedded

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// Bots on loopback are in an account of their own. From there they reach the
// subjects below and nothing else: neither by publishing, nor by a reply subject
// or a consumer's deliver subject on which a client with more rights would publish
// for them. Such subjects lead nowhere in the bots' account.
const botAccount = "BOTS"

// botStreams are the streams that bots read.
var botStreams = []string{subjects.StreamRequests, subjects.StreamEvents}

// botServices are the subjects that bots without credentials send requests to.
func botServices() []string {
	return append(subjects.ReviewerServices(reviewers.Local()), botReads()...)
}

// botReads are the subjects on which every bot asks for what there is.
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

// botConsumers are the subjects on which bots create consumers. [ConsumerService]
// serves them, and creates pull consumers only.
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

// notForBots are the subjects on which a client could take the messages of a
// channel: those of the channels' consumers.
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
		Subscribe: &server.SubjectPermission{Allow: append([]string{"_INBOX.>"}, subjects.Feeds()...)},
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
