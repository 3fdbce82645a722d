package notify

import (
	"container/heap"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

type item struct {
	key      string
	ids      []string            // of its requests, as far as they have been named
	events   []approvals.Event   // of messages, and of requests found waiting
	messages map[string]Message  // by the id of their event
	since    time.Time           // it was queued first
	at       time.Time           // it is due
	attempts int                 // that failed
	tick     time.Time           // announced late, at this time; zero: as soon as its event came
	alone    map[string]struct{} // targets at which it is posted without waiting for others
	gathered map[string]struct{} // targets at which the others of its run have been waited for
	batch    *batch              // in place of all the above: many items for one target
	place    int                 // in the heap; -1: being processed, or in a batch
	busy     bool                // a worker processes it
	changed  bool                // an event was added meanwhile
}

type batch struct {
	batchKey
	members []*item
}

// batchKey is what the members of a batch have in common.
type batchKey struct {
	target string
	run    string // "": items that come beyond the limit of the target, of any run
}

type queue struct {
	channel string
	wake    chan struct{} // receives when an item has become the first

	mu      sync.Mutex
	byKey   map[string]*item
	due     itemHeap
	batches map[batchKey]*item
	paused  time.Time // nothing is due before
	pauses  int       // since the service last took a delivery
}

func newQueue(channel string) *queue {
	return &queue{channel: channel, wake: make(chan struct{}, 1), byKey: map[string]*item{}, batches: map[batchKey]*item{}}
}

func (q *queue) add(key string, e approvals.Event, m Message, tick time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.byKey[key]
	if it == nil {
		now := time.Now()
		it = &item{key: key, messages: map[string]Message{}, since: now, at: now, tick: tick, alone: map[string]struct{}{}, gathered: map[string]struct{}{}, place: -1}
		q.byKey[key] = it
		q.push(it)
	}
	it.addEvent(e, m)
	if tick.After(it.tick) {
		it.tick = tick
	}
	if it.busy {
		it.changed = true
	}
}

// addEvent adds an event unless it is known.
func (it *item) addEvent(e approvals.Event, m Message) {
	known := false
	for i := range it.events {
		known = known || it.events[i].ID == e.ID
	}
	if !known {
		it.events = append(it.events, e)
		it.ids = append(it.ids, e.RequestID)
	}
	if m != nil {
		it.messages[e.ID] = m
	}
}

// push makes an item wait for its time. The caller holds q.mu.
func (q *queue) push(it *item) {
	heap.Push(&q.due, it)
	if it.place == 0 {
		q.signal()
	}
}

func (q *queue) next(now time.Time) (*item, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.due) == 0:
		return nil, time.Hour
	case now.Before(q.paused):
		return nil, q.paused.Sub(now)
	case now.Before(q.due[0].at):
		return nil, q.due[0].at.Sub(now)
	}
	it := heap.Pop(&q.due).(*item)
	it.place, it.busy, it.changed = -1, true, false
	if len(q.due) > 0 {
		q.signal() // each push wakes one worker only
	}
	return it, 0
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// finish removes an item whose events as of its snapshot are delivered, and returns their
// messages. If it has changed meanwhile, it stays for the rest.
func (q *queue) finish(it *item, done []approvals.Event) []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.busy, it.attempts = false, 0
	var messages []Message
	delivered := map[string]bool{}
	for i := range done {
		delivered[done[i].ID] = true
	}
	for id, m := range it.messages {
		if delivered[id] {
			messages = append(messages, m)
			delete(it.messages, id)
		}
	}
	if it.changed {
		it.at = time.Now()
		q.push(it)
		return messages
	}
	delete(q.byKey, it.key)
	return messages
}

func (q *queue) later(it *item, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.busy, it.at = false, at
	q.push(it)
}

func (q *queue) joinBatch(it *item, key batchKey, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.busy = false
	waiting := q.batches[key]
	if waiting == nil {
		waiting = &item{batch: &batch{batchKey: key}, since: it.since, at: at, place: -1}
		q.batches[key] = waiting
		q.push(waiting)
	}
	waiting.batch.members = append(waiting.batch.members, it)
}

func (q *queue) hasBatch(key batchKey) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.batches[key] != nil
}

// takeMembers removes the first members from a batch, which stays if others are left.
func (q *queue) takeMembers(it *item, most int) []*item {
	q.mu.Lock()
	defer q.mu.Unlock()
	members := it.batch.members
	if len(members) <= most {
		delete(q.batches, it.batch.batchKey)
		return members
	}
	it.batch.members = append([]*item(nil), members[most:]...)
	it.busy, it.at = false, time.Now()
	q.push(it)
	return members[:most:most]
}

// pause stops all deliveries of the channel for the time that its service asks for. It returns when
// that ends, and how many pauses there have been since the service last took a delivery; 0: the
// deliveries were stopped already.
func (q *queue) pause(asked time.Duration) (until time.Time, pauses int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if !now.Before(q.paused) {
		q.pauses++
		pauses = q.pauses
	}
	if until = now.Add(bounded(asked, q.pauses)); until.After(q.paused) {
		q.paused = until
	}
	return q.paused, pauses
}

// taken notes that the service takes deliveries, so that its next pause is a short one.
func (q *queue) taken() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pauses = 0
}

func (q *queue) snapshot(it *item) (ids []string, events []approvals.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string(nil), it.ids...), append([]approvals.Event(nil), it.events...)
}

func (q *queue) messages() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []Message
	for _, it := range q.byKey {
		for _, m := range it.messages {
			all = append(all, m)
		}
	}
	return all
}

// depth returns how many cards wait, and since when the oldest does.
func (q *queue) depth() (n int, oldest time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, it := range q.byKey {
		if oldest.IsZero() || it.since.Before(oldest) {
			oldest = it.since
		}
	}
	return len(q.byKey), oldest
}

type itemHeap []*item

func (h itemHeap) Len() int           { return len(h) }
func (h itemHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h itemHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *itemHeap) Push(x any) {
	it := x.(*item)
	it.place = len(*h)
	*h = append(*h, it)
}

func (h *itemHeap) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return it
}
