package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/heldcall/heldcall/proxy"
)

// canary tests the proxy at the start and keeps the result for the health check.
type canary struct {
	try func(context.Context, *proxy.Proxy) error
	err atomic.Pointer[error]
}

func newCanary(try func(context.Context, *proxy.Proxy) error, reg prometheus.Registerer) *canary {
	c := &canary{try: try}
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_canary_passed",
		Help: "1 if no canary call passed unheld at the start, else 0: a route would let calls through.",
	}, func() float64 {
		if c.check(context.Background()) != nil {
			return 0
		}
		return 1
	})
	return c
}

func (c *canary) run(ctx context.Context, p *proxy.Proxy, log *slog.Logger) {
	err := c.try(ctx, p)
	c.err.Store(&err)
	if err != nil && ctx.Err() == nil { // else heldcall was stopped during the test
		log.Error("a canary call would have passed unheld: heldcall reports that it is not ready", "error", err)
	}
}

// check is the error of the test, for the health check.
func (c *canary) check(context.Context) error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	return errors.New("the canary has not run yet")
}
