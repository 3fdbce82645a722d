package notify

import (
	"container/heap"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// item are the events of one card that are to be delivered.
type item struct {
	key      string
	ids      []string            // of its requests, as far as they have been named
	events   []approvals.Event   // of messages, and of requests found waiting
	messages map[string]Message  // by the id of their event
	since    time.Time           // it was queued first
	at       time.Time           // it is looked at next
	attempts int                 // that failed
	tick     time.Time           // it is delivered late, at this time; zero: it was not late
	alone    map[string]struct{} // targets at which its turn to be posted has come
	group    *waitingGroup       // in place of all the above: many items for one target
	place    int                 // in the heap; -1: taken, or in a group
	taken    bool
	changed  bool // something was added while it was taken
}

// waitingGroup are items that wait to be posted together.
type waitingGroup struct {
	target  string
	members []*item
}

// queue are the items of one channel, by time.
type queue struct {
	mu     sync.Mutex
	byKey  map[string]*item
	due    itemHeap
	groups map[string]*item // by target
	paused time.Time        // nothing is due before
	wake   chan struct{}
}

func newQueue() *queue {
	return &queue{byKey: map[string]*item{}, groups: map[string]*item{}, wake: make(chan struct{}, 1)}
}

// add adds an event to the item of its card.
func (q *queue) add(key string, e approvals.Event, m Message, tick time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.byKey[key]
	if it == nil {
		now := time.Now()
		it = &item{key: key, messages: map[string]Message{}, since: now, at: now, tick: tick, alone: map[string]struct{}{}, place: -1}
		q.byKey[key] = it
		q.push(it)
	}
	it.note(e, m)
	if tick.After(it.tick) {
		it.tick = tick
	}
	if it.taken {
		it.changed = true
	}
}

// note adds an event unless it is known.
func (it *item) note(e approvals.Event, m Message) {
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

// next takes an item whose time has come, or returns the time until then.
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
	it.place, it.taken, it.changed = -1, true, false
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

// finish releases an item whose events at the time it was taken are done, and returns
// their messages.
func (q *queue) finish(it *item, done []approvals.Event) []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.taken, it.attempts = false, 0
	var messages []Message
	told := map[string]bool{}
	for i := range done {
		told[done[i].ID] = true
	}
	for id, m := range it.messages {
		if told[id] {
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

// later returns an item to the queue.
func (q *queue) later(it *item, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.taken, it.at = false, at
	q.push(it)
}

// join puts an item into the group at a target, which is posted at a time.
func (q *queue) join(it *item, target string, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.taken = false
	waiting := q.groups[target]
	if waiting == nil {
		waiting = &item{group: &waitingGroup{target: target}, since: it.since, at: at, place: -1}
		q.groups[target] = waiting
		q.push(waiting)
	}
	waiting.group.members = append(waiting.group.members, it)
}

// groupWaits reports whether items wait to be posted together at a target.
func (q *queue) groupWaits(target string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.groups[target] != nil
}

// takeGroup takes the first members of a group; the others continue to wait.
func (q *queue) takeGroup(it *item, most int) []*item {
	q.mu.Lock()
	defer q.mu.Unlock()
	members := it.group.members
	if len(members) <= most {
		delete(q.groups, it.group.target)
		return members
	}
	it.group.members = append([]*item(nil), members[most:]...)
	it.taken, it.at = false, time.Now()
	q.push(it)
	return members[:most:most]
}

// pause pauses the whole channel.
func (q *queue) pause(until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if until.After(q.paused) {
		q.paused = until
	}
}

// snapshot is what is known of an item now.
func (q *queue) snapshot(it *item) (ids []string, events []approvals.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string(nil), it.ids...), append([]approvals.Event(nil), it.events...)
}

// messages are those of every item.
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

// depth is how many cards wait, and since when the oldest does.
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

// itemHeap is a [heap.Interface] by time.
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
