package app

import (
	"context"

	"github.com/heldcall/heldcall/proxy"
)

// WithCanary has a start be proven by a function of the test.
func (o Options) WithCanary(try func(context.Context, *proxy.Proxy) error) Options {
	o.canary = try
	return o
}

// WithProxy has a function of the test change the options of the proxy.
func (o Options) WithProxy(change func(*proxy.Options)) Options {
	o.proxy = change
	return o
}
