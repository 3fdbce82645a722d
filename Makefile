# `make` lists what there is.

GO        ?= go
TOOL      := $(GO) tool -modfile=tools/go.mod
FUZZTIME  ?= 1m
FUZZPKGS  ?= ./...
FUZZJOBS  ?= 1
FUZZMOD   ?= .
VERSION   ?=
ARGS      ?=

# Compiled packages have no path of this clone in them: all clones on a machine share them.
export GOFLAGS := $(shell $(GO) env GOFLAGS) -trimpath

# What make test goes by: each test program would sleep for a second at its end; a fifth of
# its CPU time is garbage collection; as many packages as there are processors, and twice as
# many tests of a package, since many tests wait.
GORACE    ?= atexit_sleep_ms=0
GOGC      ?= 400
TESTJOBS  ?= $(shell getconf _NPROCESSORS_ONLN)
TESTPARALLEL ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 2)))

# The stores of tests sync each write: they are in memory where that has 8 GB left.
TESTTMP   ?= $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8000000 { print "/dev/shm" }')

STATEENV   = $(if $(TESTTMP),TMPDIR=$(TESTTMP))

TESTENV    = GORACE=$(GORACE) GOGC=$(GOGC) $(if $(TESTTMP),TMPDIR=$(TESTTMP) GOTMPDIR=$(TESTTMP))

# How long the tests of a package may take. On two busy processors those of app take
# nearly the ten minutes that Go gives them by itself.
PATIENCE  ?= 60m

.DEFAULT_GOAL := help
.PHONY: help run build test race check code ledger nightly fmt format vet queries lint tidy vuln fuzz conformance clients agents ui ui-shots docs-shots observe attention dashboards deploy release load memory replicas faults soak types bench

help: ## this list
	@awk -F ': .*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

run: ## build and run the demo: hold a call, and answer it
	@echo 'building heldcall: the first time it takes some minutes, and prints each package'
	@$(GO) build -v -o bin/ ./cmd/heldcall
	@bin/heldcall demo $(ARGS)

build: ## the program, as bin/heldcall
	$(GO) build -o bin/ ./cmd/heldcall

test: ## all tests, with the race detector where goroutines are; needs Go only; ARGS="-count 20 ./app" repeats those of a package
	$(TESTENV) $(GO) run ./internal/testing/runtests -p $(TESTJOBS) -parallel $(TESTPARALLEL) -timeout $(PATIENCE) $(ARGS)

race: ## app, the policy, the store and the commands with the race detector, which takes minutes more than make test; SHARE=1/4: each fourth test
	$(TESTENV) $(GO) run ./internal/testing/runtests -later $(if $(SHARE),-part $(SHARE)) -p $(TESTJOBS) -parallel $(TESTPARALLEL) -timeout $(PATIENCE) $(ARGS)

check: format vet lint code test queries tidy vuln ## everything that must be clean before a commit

code: ## the structure of the code, its words, and what the documents state about it
	$(GO) test -tags check -count=1 .

ledger: ## lines by area, packages and tests, against a revision: make ledger BASE=REV
	.ci/ledger $(BASE)

nightly: ## what takes too long for .ci/run: all fuzz targets, variants, seeds of faults, race, ui, soak, replicas, every agent, the whole benchmark; PART=3/10 is a part of half an hour
	.ci/nightly $(PART)

fmt: ## format the code
	$(TOOL) golangci-lint fmt ./...

format: ## is the code formatted
	$(TOOL) golangci-lint fmt --diff ./...

vet: ## go vet, the tests of clients, agents, ui and conformance included
	$(GO) vet -tags check,clients,agents,conformance,faults,ui,mount,memory,replicas ./...
	$(GO) vet -C dashboards/check -tags observe ./...

queries: ## the dashboard's queries and the rules, by Prometheus' own parser
	$(GO) test -C dashboards/check ./...

lint: ## golangci-lint with .golangci.yml
	$(TOOL) golangci-lint run ./...

tidy: ## are go.mod and go.sum as `go mod tidy` would have them, and do those of the other modules suit them
	$(GO) mod tidy -diff
	for module in $$(git ls-files '*/go.mod'); do $(GO) list -C $$(dirname $$module) -test -deps ./... >/dev/null || exit 1; done

vuln: ## known vulnerabilities; VULN_DB_REQUIRED=1 fails if their list cannot be fetched
	.ci/vuln

fuzz: ## every fuzz target for FUZZTIME (1m each), FUZZJOBS at a time; FUZZPKGS narrows it; FUZZMOD=internal/testing/clients/gosdk compares with Go SDKs
	FUZZTIME=$(FUZZTIME) FUZZJOBS=$(FUZZJOBS) FUZZMOD=$(FUZZMOD) .ci/fuzz $(FUZZPKGS)

conformance: ## recorded answers of many providers through the real proxy; needs ../shared/streams
	$(STATEENV) $(GO) test -tags conformance ./internal/testing/conformance -run TestConformance -count=1 -v -timeout $(PATIENCE)

clients: ## official SDKs of Go, Node and Python, the example bots and the verifier of the audit log; installs them
	$(GO) test -C internal/testing/clients/gosdk ./...
	$(STATEENV) $(GO) test -tags clients ./internal/testing/clients ./examples -count=1 -v -timeout $(PATIENCE)

agents: ## Codex, Claude Code, opencode and Qwen Code at work through heldcall run; installs them; ARGS=-all: more of them, -long: holds for 330 s; SHARE=1/2: half of the scenarios
	$(GO) test -tags agents ./internal/testing/agents -count=1 -v -parallel 6 -timeout $(PATIENCE) -args $(if $(SHARE),-part $(SHARE)) $(ARGS)

ui: ## the web inbox in Chromium, at the width of a desk and of a phone; installs the browser (Debian) and its driver; ARGS='-only live' narrows it, SHARE=1/2 plays half of the flows at a desk only
	.ci/chromium
	$(STATEENV) $(GO) test -tags ui ./internal/testing/ui -count=1 -v -timeout $(PATIENCE) -args $(if $(SHARE),-part $(SHARE)) $(ARGS)

ui-shots: ## the same, and keeps pictures of the pages in bin/shots
	.ci/chromium
	$(GO) test -tags ui ./internal/testing/ui -count=1 -v -timeout $(PATIENCE) -args -shots bin/shots $(ARGS)

docs-shots: ## the pictures of docs/cards.md, by ui-shots
	for flows in cards question judged; do $(MAKE) ui-shots ARGS="-only $$flows" || exit 1; done
	for picture in docs/pictures/*.png; do cp bin/shots/$$(basename $$picture .png)-desk-light.png $$picture || exit 1; done

observe: ## a real Prometheus scrapes heldcall: rules, alerts, and every query of the dashboard; installs it (Debian)
	.ci/prometheus
	$(GO) test -C dashboards/check -tags observe -run 'TestPromtool|TestEveryQuery' -count=1 -v -timeout $(PATIENCE) ./...

deploy: ## Kubernetes manifests, Helm chart, compose, systemd unit, Dockerfile, and a release of this platform whose packages are installed; installs systemd, rpm, cpio and Ruby (Debian); needs root; ARGS=-short: without what builds the program anew
	.ci/deploy
	$(GO) vet -C deploy/release ./...
	$(GO) vet -C deploy/check ./...
	$(GO) test -C deploy/check -count=1 -timeout $(PATIENCE) $(ARGS) ./...

release: ## archives of all platforms, packages (deb, rpm, Homebrew, npm, PyPI), checksums and SBOM, in bin/release; VERSION=v1.2.3
	$(GO) run -C deploy/release . -version '$(VERSION)'

dashboards: ## write dashboards/grafana from dashboards/heldcall.go
	$(GO) test ./dashboards -run TestFileIsUpToDate -update

load: ## two thousand calls held at once, a thousand requests to a Slack that limits the rate, lists of 72 MB, kill -9 at each step in each API (make test has less), a start with 10,000 requests, a full disk; needs root
	$(GO) test -tags mount ./approvals/store -run TestDiskFull -count=1 -v -timeout $(PATIENCE)
	$(GO) test -tags mount ./app -run TestMountedDiskFaults -count=1 -v -timeout $(PATIENCE)
	$(GO) test ./approvals/gate -run TestPromise7_NothingHangs_ManyHolds -count=1 -v -timeout $(PATIENCE) -args -many=2000
	$(GO) test ./notify/slack -run TestManyReachARateLimitedSlack -count=1 -v -timeout $(PATIENCE) -args -many=1000
	$(GO) test ./app -run TestListsOfLargeRequestsHavePreviews -count=1 -v -timeout $(PATIENCE) -args -large=10
	$(GO) test ./approvals/store -run TestManyTurnsAtTheStart -count=1 -v -timeout $(PATIENCE) -args -turns=10000
	$(GO) test ./app -run TestPromise12_AskedOnce -count=1 -v -timeout $(PATIENCE) -args -every-step
	$(GO) test ./cmd/heldcall -run TestPortOpensBeforeTheStore -count=1 -v -timeout $(PATIENCE) -args -requests=10000

faults: ## replicas, NATS nodes and disks that fail while agents wait; HELDCALL_SEEDS=1000 PATIENCE=5h: more than 40 seeds, HELDCALL_SEEDS=13-24: these, HELDCALL_SEED=N or N,M: these again; needs root
	$(GO) test -C internal/testing/faults -tags faults -run TestFaults -count=1 -timeout $(PATIENCE)

soak: ## 2,000 calls held for HELDCALL_SOAK (30m) while agents leave and return: fails if memory or goroutines grow
	$(GO) run ./internal/testing/bench -hops heldcall -only '^soak$$' -soak $(or $(HELDCALL_SOAK),30m) $(ARGS)

replicas: ## replicas on a cluster of NATS whose servers are killed, stopped, cut off for 30 s and restarted under load
	$(GO) test -tags replicas ./internal/testing/natscluster ./approvals/store -run 'Cluster|Node|Cut|Replicas' -count=1 -v -timeout $(PATIENCE)
	$(GO) test -tags replicas ./app -run 'TestReplicas|TestHeldCallOutlives|TestRollingRestart' -count=1 -v -timeout $(PATIENCE)

memory: ## the program in a control group of 512 MB, against large requests and answers and bots that do not read, ten starts; needs root and Linux
	$(GO) test -tags memory ./internal/testing/memory -count=1 -v -timeout $(PATIENCE)

types: ## are all items, events, blocks, tool types and request fields of the newest openai and anthropic packages (Python, Node, Go) in the tables of internal/testing/types; installs them; ARGS=-samples writes the samples
	$(GO) run ./internal/testing/types $(ARGS)

attention: ## how often the starter policy asks people, and what cards state, by labelled calls of agents; fails above the limits; ARGS='-top 30 -risky -effects' lists needless prompts, risky calls that pass, and wrong cards
	$(GO) run ./internal/testing/attention $(ARGS)

bench: ## heldcall beside plain hops and the revision in benchmarks/base; fails where it is slower than that; ARGS=-short, heldcall and that revision only, takes three minutes
	$(GO) run ./internal/testing/bench $(ARGS)
