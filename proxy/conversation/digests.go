package conversation

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/recent"
	"github.com/minio/highwayhash"
)

// Digests remembers the SHA-256 of the long texts that identify requests: an agent sends the same
// first and last message of the user with each request of a task. What is remembered is found by a
// hash that is faster, with a key of this process, so that nobody can make two texts for which it is
// the same. It is safe for concurrent use.
type Digests struct {
	key    [highwayhash.Size]byte
	recent *recent.Map[longText, [sha256.Size]byte]
}

// longText identifies a text: all that its digest depends on, the message by its hash.
type longText struct {
	prefix, reminder string
	content          [highwayhash.Size]byte
}

const (
	// longContent is the size of a message, in bytes, up to which a digest is as fast as finding it.
	longContent = 2 << 10
	// The bounds of one generation: see package recent.
	maxDigests     = 4096
	maxDigestsSize = 1 << 20
)

// NewDigests returns an empty memory.
func NewDigests() *Digests {
	d := &Digests{recent: recent.New[longText, [sha256.Size]byte](maxDigests, maxDigestsSize)}
	_, _ = rand.Read(d.key[:]) // it never fails
	return d
}

// hex returns the first n bytes of the SHA-256 of a text.
func (d *Digests) hex(text intercept.UserText, n int) string {
	sum := d.sum(text)
	return hex.EncodeToString(sum[:n])
}

// sum returns the SHA-256 of a text. A nil *Digests remembers nothing.
func (d *Digests) sum(text intercept.UserText) (sum [sha256.Size]byte) {
	if d == nil || len(text.Content) <= longContent {
		return sumOf(text)
	}
	id := longText{text.Prefix, text.Reminder, highwayhash.Sum(text.Content, d.key[:])}
	size := len(id.prefix) + len(id.reminder) + len(id.content) + len(sum)
	sum, known := d.recent.Get(id, func([sha256.Size]byte) int { return size })
	if !known {
		sum = sumOf(text)
		if size <= longContent { // a prefix has a text of the agent's
			d.recent.Put(id, sum, size)
		}
	}
	return sum
}

func sumOf(text intercept.UserText) (sum [sha256.Size]byte) {
	hash := sha256.New()
	_, _ = text.WriteTo(hash) // a hash never fails
	return [sha256.Size]byte(hash.Sum(sum[:0]))
}
