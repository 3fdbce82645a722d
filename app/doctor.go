package app

import (
	"context"
	"sync"
	"time"

	"github.com/heldcall/heldcall/proxy/upstream"
)

// diagnoseWithin is how long the diagnosis of one upstream may take.
const diagnoseWithin = 45 * time.Second

// Diagnosis is how one upstream is reached.
type Diagnosis struct {
	Prefix   string             `json:"prefix"`
	URL      string             `json:"url"`
	Proxy    string             `json:"proxy,omitempty"` // scheme://host:port, without credentials; empty: none
	Findings []upstream.Finding `json:"findings"`        // one a step, to the first that fails
}

// OK reports whether each step succeeded.
func (d *Diagnosis) OK() bool {
	for _, f := range d.Findings {
		if !f.OK {
			return false
		}
	}
	return true
}

// Diagnose connects to all upstreams at once, as a heldcall with this configuration would, and returns how each is reached.
func (c *ProxyConfig) Diagnose(ctx context.Context) []Diagnosis {
	all := make([]Diagnosis, len(c.Upstreams))
	var running sync.WaitGroup
	for i, u := range proxied(c.Upstreams) {
		running.Go(func() { all[i] = diagnose(ctx, u) })
	}
	running.Wait()
	return all
}

func diagnose(ctx context.Context, u upstream.Config) Diagnosis {
	d := Diagnosis{Prefix: u.Prefix, URL: u.URL}
	client, err := upstream.New(u)
	if err != nil {
		d.Findings = []upstream.Finding{upstream.NewFailure("configuration", err.Error())}
		return d
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, diagnoseWithin)
	defer cancel()
	d.Proxy, d.Findings = client.ProxyAddress(), client.Diagnose(ctx)
	return d
}
