package natskv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// provisionTime bounds the creation of all buckets and streams.
	provisionTime = time.Minute
	// placementTime is the time in which a cluster must have a server for each copy. After
	// it, streams are created with fewer copies.
	placementTime = 15 * time.Second
	// provisionPause is the mean time between two attempts.
	provisionPause = 200 * time.Millisecond
)

// Copies is the number of copies of the state in a cluster. If the configuration did not
// ask for it, streams that have more keep them.
type Copies struct {
	number int
	asked  bool
}

// WithCopies calls create with the number of copies of the state: replicas; 0 means as many
// as the cluster has servers, at most 3, and not fewer than there are.
func (b *Backend) WithCopies(ctx context.Context, replicas int, create func(context.Context, Copies) error) error {
	ctx, cancel := context.WithTimeout(ctx, provisionTime)
	defer cancel()
	n := Copies{replicas, replicas > 0}
	if !n.asked {
		n.number = 1
		if b.Conn.ConnectedClusterName() != "" {
			n.number = 3
		}
	}
	// The servers of a cluster that has just started find each other one after the other.
	patient, cancel := context.WithTimeout(ctx, placementTime)
	defer cancel()
	for {
		err := create(ctx, n)
		if !notEnoughServers(err) {
			return err
		}
		select {
		case <-time.After(provisionPause):
			continue
		case <-patient.Done():
		}
		if n.asked || n.number == 1 {
			return err
		}
		n.number--
		b.Log.Warn("the cluster has too few servers for three copies of the state", "copies", n.number, "error", err)
	}
}

// WhenReady calls try until it succeeds, fails for good, or the context ends. JetStream may
// not be ready, and may not answer: so each attempt has a short time.
func (b *Backend) WhenReady(ctx context.Context, doing string, try func(context.Context) error) error {
	var last error
	for attempt := 0; ; attempt++ {
		limited, cancel := context.WithTimeout(ctx, min(time.Second<<min(attempt, 4), 2*OpTimeout))
		err := try(limited)
		cancel()
		if err == nil {
			return nil
		}
		if !temporary(err) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if attempt == 1 {
			b.Log.Warn("JetStream is not ready; trying again", "operation", doing, "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: JetStream was not ready within %s; is a majority of its servers reachable? %w", doing, provisionTime, last)
		case <-time.After(provisionPause/2 + rand.N(provisionPause)):
		}
	}
}

// EnsureBucket creates or updates a bucket with the name and the settings of c, as the
// NATS library does. Records of a bucket with a history (MaxMsgsPerSubject) can be erased.
func (b *Backend) EnsureBucket(ctx context.Context, n Copies, c jetstream.StreamConfig) (kv jetstream.KeyValue, err error) {
	name := c.Name
	c.Name, c.Subjects = "KV_"+name, []string{"$KV." + name + ".>"}
	c.MaxMsgsPerSubject = max(c.MaxMsgsPerSubject, 1)
	c.Discard, c.AllowRollup, c.DenyDelete = jetstream.DiscardNew, true, c.MaxMsgsPerSubject == 1
	if _, err := b.EnsureStream(ctx, n, c); err != nil {
		return nil, err
	}
	err = b.WhenReady(ctx, "open the bucket "+name, func(ctx context.Context) (err error) {
		kv, err = b.JS.KeyValue(ctx, name)
		return err
	})
	return kv, err
}

// EnsureStream creates a stream, or changes the configuration of an existing one. If several
// replicas create a stream at the same moment, NATS answers only one of them: so each attempt
// reads the stream first.
func (b *Backend) EnsureStream(ctx context.Context, n Copies, want jetstream.StreamConfig) (stream jetstream.Stream, err error) {
	err = b.WhenReady(ctx, "create the stream "+want.Name, func(ctx context.Context) (err error) {
		stream, err = b.tryStream(ctx, n, want)
		return err
	})
	return stream, err
}

// noDuplicates is the shortest window that NATS takes. A start reads all messages of the window: those without ids in vain.
const noDuplicates = 100 * time.Millisecond

// tryStream is one attempt of [Backend.EnsureStream]. Only a stream with a window of its own has messages with ids. The embedded server compresses the blocks that are
// complete. An external one does so only if it is configured for that: after a crash, nats-server may add a
// record to a compressed block, which it cannot read then. The embedded one is kept from that.
func (b *Backend) tryStream(ctx context.Context, n Copies, want jetstream.StreamConfig) (jetstream.Stream, error) {
	if b.Disk != nil {
		want.Compression = jetstream.S2Compression
	}
	want.Duplicates = cmp.Or(want.Duplicates, noDuplicates)
	stream, err := b.JS.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return b.JS.CreateStream(ctx, replicated(want, n.number))
	}
	if err != nil {
		return nil, err
	}
	has := stream.CachedInfo().Config
	if !n.asked {
		n.number = max(n.number, has.Replicas)
	}
	updated, err := b.update(ctx, stream, replicated(configured(has, want), n.number))
	if notEnoughServers(err) && n.number > has.Replicas && !n.asked {
		b.Log.Warn("the cluster has too few servers for more copies of the state", "stream", want.Name, "copies", has.Replicas)
		return b.update(ctx, stream, replicated(configured(has, want), has.Replicas))
	}
	return updated, err
}

// update changes the configuration of a stream, unless it is as it should be.
func (b *Backend) update(ctx context.Context, stream jetstream.Stream, target jetstream.StreamConfig) (jetstream.Stream, error) {
	if reflect.DeepEqual(stream.CachedInfo().Config, target) {
		return stream, nil
	}
	return b.JS.UpdateStream(ctx, target)
}

// replicated returns a configuration with a number of copies. A follower may not have the
// last write yet, so the leader alone answers reads where there are several.
func replicated(c jetstream.StreamConfig, number int) jetstream.StreamConfig {
	c.Replicas, c.AllowDirect = number, number == 1
	return c
}

// configured returns a configuration with the settings of heldcall. Other settings stay: an
// operator may have changed them.
func configured(c, want jetstream.StreamConfig) jetstream.StreamConfig {
	c.Subjects, c.MaxAge, c.AllowAtomicPublish = want.Subjects, want.MaxAge, want.AllowAtomicPublish
	c.MaxMsgsPerSubject = cmp.Or(want.MaxMsgsPerSubject, c.MaxMsgsPerSubject)
	c.MaxBytes = cmp.Or(want.MaxBytes, c.MaxBytes)
	c.AllowMsgTTL, c.SubjectDeleteMarkerTTL = c.AllowMsgTTL || want.AllowMsgTTL, cmp.Or(want.SubjectDeleteMarkerTTL, c.SubjectDeleteMarkerTTL)
	if c.DenyDelete && !want.DenyDelete && c.MaxMsgsPerSubject > 1 {
		c.MaxMsgsPerSubject = 1 // NATS does not permit deletion later; a history would keep erased values
	}
	c.Duplicates, c.Compression = cmp.Or(want.Duplicates, c.Duplicates), cmp.Or(want.Compression, c.Compression)
	if c.MaxAge > 0 {
		c.Duplicates = min(c.Duplicates, c.MaxAge) // NATS refuses more
	}
	return c
}

// temporary reports whether an error may be gone at the next attempt. A name in use is that
// of a stream that another replica has just created.
func temporary(err error) bool {
	const (
		streamOffline      = 10118
		duplicateInProcess = 10158 // an earlier attempt of the same publication is not decided yet
	)
	var refused *jetstream.APIError
	if !errors.As(err, &refused) {
		return true
	}
	switch refused.ErrorCode {
	case streamOffline, duplicateInProcess, jetstream.JSErrCodeStreamNameInUse:
		return true
	}
	return refused.Code == 503 && !NoStorage(err) && !Full(err)
}

// NoStorage reports whether NATS cannot reserve the storage of a stream.
func NoStorage(err error) bool {
	var refused *jetstream.APIError
	const insufficientResources, storageExceeded = 10023, 10047
	return errors.As(err, &refused) && (refused.ErrorCode == insufficientResources || refused.ErrorCode == storageExceeded)
}

// Full reports whether a stream has all the bytes that it may have.
func Full(err error) bool {
	var refused *jetstream.APIError
	const storeFailed = 10077
	return errors.As(err, &refused) && refused.ErrorCode == storeFailed && strings.Contains(refused.Description, "maximum bytes")
}

// notEnoughServers reports whether a cluster has fewer servers than copies.
func notEnoughServers(err error) bool {
	var refused *jetstream.APIError
	const noSuitablePeers, notClustered = 10005, 10074
	return errors.As(err, &refused) && (refused.ErrorCode == noSuitablePeers || refused.ErrorCode == notClustered)
}

// LastOfEach returns the last message of each subject that a filter selects, in the order of their
// sequences.
func LastOfEach(ctx context.Context, stream jetstream.Stream, filter string) (last []*jetstream.RawStreamMsg, err error) {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		msg, err := stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // it was deleted by age meanwhile
		}
		if err != nil {
			return nil, err
		}
		last = append(last, msg)
	}
	slices.SortFunc(last, func(a, b *jetstream.RawStreamMsg) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return last, nil
}

// Messages yields the messages of a subject in order, from a sequence on. It reads each by its sequence
// and creates no consumer.
func Messages(ctx context.Context, stream jetstream.Stream, subject string, from uint64) iter.Seq2[*jetstream.RawStreamMsg, error] {
	return func(yield func(*jetstream.RawStreamMsg, error) bool) {
		for seq := from; ; {
			read, cancel := Bounded(ctx)
			msg, err := stream.GetMsg(read, seq, jetstream.WithGetMsgSubject(subject))
			cancel()
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			if !yield(msg, err) || err != nil {
				return
			}
			seq = msg.Sequence + 1
		}
	}
}
