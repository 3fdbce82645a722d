package approvals

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// IDSource returns ids that are strictly ascending in this process. The zero value is
// ready to use. It is safe for concurrent use.
type IDSource struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
}

// Next returns a ULID of a time.
func (s *IDSource) Next(at time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entropy == nil {
		s.entropy = ulid.Monotonic(rand.Reader, 0)
	}
	return ulid.MustNew(ulid.Timestamp(at), s.entropy).String()
}

// DerivedID returns a ULID that depends on the time and the name only.
func DerivedID(at time.Time, name string) string {
	sum := sha256.Sum256([]byte(name))
	var id ulid.ULID
	// Both fail only for a year after 10889 or a slice that is not ten bytes long.
	_ = id.SetTime(ulid.Timestamp(at))
	_ = id.SetEntropy(sum[:10])
	return id.String()
}

// shortID is how many characters of an id lists show.
const shortID = 6

// ShortID returns the end of an id, by which lists show it and commands find it. Ids begin
// with the time, so their ends differ.
func ShortID(id string) string { return id[max(0, len(id)-shortID):] }
