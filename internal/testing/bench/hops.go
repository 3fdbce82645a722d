package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"github.com/valyala/fasthttp"
)

// The hops that heldcall is compared with, each in a process of its own.
const (
	hopDirect   = "direct"
	hopTCP      = "tcp"
	hopFasthttp = "fasthttp"
	hopHTTPUtil = "httputil"
	hopHeldcall = "heldcall"
	hopBase     = "base" // an older heldcall
)

// runHop serves one of the comparison hops on a free loopback port, which it prints on standard output.
func runHop(role, upstreamAddr string) error {
	serve := map[string]func(net.Listener, string) error{
		hopTCP: serveTCP, hopFasthttp: serveFasthttp, hopHTTPUtil: serveHTTPUtil,
	}[role]
	if serve == nil {
		return fmt.Errorf("role %q is not one of upstream, tcp, fasthttp, httputil", role)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(notice{Addr: ln.Addr().String()}); err != nil {
		return fmt.Errorf("tell the address: %w", err)
	}
	return serve(ln, upstreamAddr)
}

// serveTCP copies bytes both ways: the least a hop can cost.
func serveTCP(ln net.Listener, upstreamAddr string) error {
	for {
		down, err := ln.Accept()
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go func() {
			defer down.Close()
			up, err := net.Dial("tcp", upstreamAddr)
			if err != nil {
				return
			}
			defer up.Close()
			go func() {
				_, _ = io.Copy(up, down)
				up.Close()
			}()
			_, _ = io.Copy(down, up)
		}()
	}
}

// serveFasthttp is the reverse proxy of fasthttp's README, with the answer's body streamed. It parses no body.
func serveFasthttp(ln net.Listener, upstreamAddr string) error {
	client := &fasthttp.HostClient{Addr: upstreamAddr, MaxConns: 100_000, StreamResponseBody: true}
	srv := &fasthttp.Server{
		NoDefaultServerHeader: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Request.Header.Del("Connection")
			if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
				ctx.Error("upstream: "+err.Error(), fasthttp.StatusBadGateway)
				return
			}
			ctx.Response.Header.Del("Connection")
		},
	}
	return srv.Serve(ln)
}

// serveHTTPUtil is the standard library's reverse proxy. Without full duplex it cuts fast streams now and then.
func serveHTTPUtil(ln net.Listener, upstreamAddr string) error {
	rp := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: upstreamAddr})
	rp.FlushInterval = -1
	rp.Transport = &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true}
	return http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		rp.ServeHTTP(w, r)
	}))
}
