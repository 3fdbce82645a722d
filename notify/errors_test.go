package notify

import (
	"net/http"
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	const most = 10 * time.Minute
	future := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	for header, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-1": 0, "0": 0, "30": 30 * time.Second, "600": most, "65536": most, "86400": most,
		"99999999999999999999": most, future: most, past: 0,
	} {
		if got := ParseRetryAfter(header, most); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}
