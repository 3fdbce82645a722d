package strictyaml

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes.
type Size int64

// String writes the size in the largest unit that divides it, such as 64MiB.
func (s Size) String() string {
	for i := len(sizeUnits) - 1; i > 0; i-- {
		if u := sizeUnits[i]; s != 0 && int64(s)%u.bytes == 0 && u.binary {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText writes the size as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// sizeUnits are in ascending order.
var sizeUnits = []struct {
	name   string
	bytes  int64
	binary bool
}{
	{"B", 1, true},
	{"kB", 1e3, false},
	{"KiB", 1 << 10, true},
	{"MB", 1e6, false},
	{"MiB", 1 << 20, true},
	{"GB", 1e9, false},
	{"GiB", 1 << 30, true},
}

// parseSize reads 64MiB, 500kB or 1048576B.
func parseSize(text string) (Size, error) {
	digits := strings.TrimRight(text, "BkKMGi ")
	unit := strings.TrimSpace(text[len(digits):])
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a size: write a number with a unit, such as 64MiB", text)
	}
	for _, u := range sizeUnits {
		if u.name != unit {
			continue
		}
		if n > math.MaxInt64/u.bytes {
			return 0, fmt.Errorf("%q is too large", text)
		}
		return Size(n * u.bytes), nil
	}
	return 0, fmt.Errorf("%q has no unit that is known: write B, kB, KiB, MB, MiB, GB or GiB", text)
}

const day = 24 * time.Hour

// ParseDuration reads what [time.ParseDuration] reads, and whole days such as
// 90d. Negative durations are refused.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%q is not a number of days: write for example 90d", text)
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration: write a number with a unit, such as 500ms, 10s, 15m, 1h or 90d", text)
	case d < 0:
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d, nil
}
