// Package recent has a map that forgets what was not used for the longest time.
package recent

import "sync"

// Map is a map of bounded size. It has two generations: used entries stay in the recent one,
// and when that is full, the previous one is dropped. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	maxEntries, maxSize int

	mu               sync.Mutex
	recent, previous map[K]V
	size             int // of the recent generation
}

// New returns an empty map. A generation is full with a number of entries, or when their sizes
// add up to maxSize.
func New[K comparable, V any](maxEntries, maxSize int) *Map[K, V] {
	return &Map[K, V]{maxEntries: maxEntries, maxSize: maxSize, recent: map[K]V{}}
}

// Get returns the value of a key. size is that of the value, if it is there.
func (m *Map[K, V]) Get(key K, size func(V) int) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok = m.recent[key]; ok {
		return value, true
	}
	if value, ok = m.previous[key]; ok {
		m.put(key, value, size(value))
	}
	return value, ok
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(key K, value V, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, value, size)
}

func (m *Map[K, V]) put(key K, value V, size int) {
	if len(m.recent) >= m.maxEntries || m.size+size > m.maxSize {
		m.previous, m.recent, m.size = m.recent, map[K]V{}, 0
	}
	m.recent[key] = value
	m.size += size
}
