package approvals

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// IDSource makes ids that rise strictly within this process. The zero value is
// ready; it is safe for concurrent use.
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

// DerivedID is a ULID that is the same for the same time and name.
func DerivedID(at time.Time, name string) string {
	sum := sha256.Sum256([]byte(name))
	var id ulid.ULID
	// Both fail only on input that cannot occur: a year beyond 10889, and a
	// slice that is not ten bytes long.
	_ = id.SetTime(ulid.Timestamp(at))
	_ = id.SetEntropy(sum[:10])
	return id.String()
}
