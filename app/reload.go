package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/proxy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// reloadEvery is how often the policy's file is read to see whether it has
// changed.
const reloadEvery = time.Second

// policySource is the policy's file and what was last found in it.
type policySource struct {
	config PolicyConfig
	src    []byte // as last read, nil if there was no file
	lost   bool   // it could not be read the last time
	valid  prometheus.Gauge
	loads  *prometheus.CounterVec
}

func newPolicySource(c PolicyConfig, reg prometheus.Registerer) *policySource {
	f := promauto.With(reg)
	s := &policySource{
		config: c,
		valid:  f.NewGauge(prometheus.GaugeOpts{Name: "heldcall_policy_valid", Help: "1 while the policy in force is the one in its file, 0 while what the file holds is refused."}),
		loads:  f.NewCounterVec(prometheus.CounterOpts{Name: "heldcall_policy_reloads_total", Help: "Changes of the policy's file, by whether they were taken."}, []string{"result"}),
	}
	for _, result := range []string{"taken", "refused"} {
		s.loads.WithLabelValues(result)
	}
	return s
}

// read reads the policy if the file has changed since the last time, or nil. A
// file that the operator has not named need not be there at the start: then
// everything is asked about.
func (s *policySource) read(first bool) (*policy.Policy, error) {
	src, err := os.ReadFile(s.config.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !s.config.FileNamed && s.src == nil:
		if first {
			return policy.Default(), nil
		}
		return nil, nil
	case err != nil:
		s.lost = true
		return nil, fmt.Errorf("read the policy: %w", err)
	case !s.lost && s.src != nil && bytes.Equal(src, s.src):
		return nil, nil
	}
	s.src, s.lost = append([]byte{}, src...), false
	rules, err := policy.Parse(s.config.File, src)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return rules, nil
}

// loadPolicy reads the policy at the start.
func (a *App) loadPolicy() error {
	a.source = newPolicySource(a.config.Policy, a.registry)
	rules, err := a.source.read(true)
	if err != nil {
		return err
	}
	a.policy.Store(rules)
	a.source.valid.Set(1)
	return nil
}

// judge is the policy as the proxy asks it.
func (a *App) judge() proxy.Policy {
	if a.config.Policy.Mode == "shadow" {
		return policy.Shadow{Policy: a.policy.Load()}
	}
	return a.policy.Load()
}

// watchPolicy takes changes of the policy's file, until the context ends. What is
// wrong is refused, and the policy in force stays.
func (a *App) watchPolicy(ctx context.Context) error {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		rules, err := a.source.read(false)
		switch {
		case err != nil:
			a.source.valid.Set(0)
			if err.Error() != last {
				a.source.loads.WithLabelValues("refused").Inc()
				a.log.Error("the changed policy is refused; the one before stays in force", "error", err)
			}
			last = err.Error()
		case rules != nil:
			a.policy.Store(rules)
			a.source.valid.Set(1)
			a.source.loads.WithLabelValues("taken").Inc()
			a.log.Info("the policy has changed", "policy", absolute(a.config.Policy.File))
			last = ""
		}
	}
}

func (a *App) startPolicy(_ context.Context, running *lifecycle) error {
	if a.config.Policy.Mode == "shadow" {
		a.log.Warn("policy.mode is shadow: calls are judged, logged and counted, and nothing is held or denied")
	}
	running.background("policy", a.watchPolicy)
	return nil
}
