package memstore

import (
	"bytes"
	"context"
)

// Limits keeps the counts of policy limits. It is a [policy.SharedCounts].
type Limits struct{ process *process }

// Update replaces the value of a key by the result of change, nil: it writes nothing.
func (l *Limits) Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) (failed error) {
	err := l.process.do(ctx, "count a call for a limit", func() error {
		counts := l.process.memory.counts
		value, err := change(counts[key])
		if err == nil && value != nil {
			counts[key] = bytes.Clone(value)
		}
		failed = err // as it is
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}
