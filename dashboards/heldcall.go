package dashboards

import "fmt"

// Heldcall is the dashboard of a heldcall, or of many.
func Heldcall() Dashboard {
	return Dashboard{
		UID:         "heldcall",
		Title:       "heldcall",
		Description: "Traffic of agents, held calls and their decisions, and the health of heldcall. docs/operate.md explains each alert.",
		Rows:        []Row{overview(), habits(), traffic(), calls(), people(), channels(), state(), process()},
	}
}

// overview is what an operator looks at first.
func overview() Row {
	panel := func(title, description string, kind Kind, unit string, queries ...Query) Panel {
		return Panel{Title: title, Description: description, Kind: kind, Unit: unit, Width: 6, Queries: queries}
	}
	prompts := panel("Prompts per 100 calls", "How often people are asked, in the last hour.", Lines, "",
		Query{Expr: `100 * sum(rate(heldcall_call_verdicts_total{$sel,verdict="ask"}[1h])) / sum(rate(heldcall_call_verdicts_total{$sel}[1h]))`, Legend: "prompts"})
	prompts.Limit = Above(20)
	return Row{"Overview", false, []Panel{
		prompts,
		panel("Time to decision", "From a request to the decision of a reviewer that ended it.", Lines, "s",
			Query{Expr: `histogram_quantile(0.5, sum by (le) (rate(heldcall_time_to_decision_seconds_bucket{$sel}[$__rate_interval])))`, Legend: "p50"},
			Query{Expr: `histogram_quantile(0.9, sum by (le) (rate(heldcall_time_to_decision_seconds_bucket{$sel}[$__rate_interval])))`, Legend: "p90"}),
		panel("Waiting", "Pending requests, and the time until the first of them expires. Replicas that share a state report the same numbers.", Stat, "",
			Query{Expr: `max(heldcall_requests_pending{$sel})`, Legend: "waiting"},
			Query{Expr: `min(heldcall_request_next_expiry_seconds{$sel})`, Legend: "next expires in", Unit: "s", Limit: Below(60)}),
		panel("State", "Held: no canary call passed unheld at the start of any instance. Policy: the last load of every policy file succeeded. NATS: every instance is connected. Writes: what 99 % of the writes took until they were on disk.", Stat, "",
			Query{Expr: `min(heldcall_canary_passed{$sel})`, Legend: "held", Limit: OK()},
			Query{Expr: `min(heldcall_policy_valid{$sel})`, Legend: "policy", Limit: OK()},
			Query{Expr: `min(heldcall_nats_connected{$sel})`, Legend: "NATS", Limit: OK()},
			Query{Expr: `histogram_quantile(0.99, sum by (le) (rate(heldcall_store_write_seconds_bucket{$sel}[$__rate_interval])))`, Legend: "writes", Unit: "s", Limit: Above(0.5)}),
		panel("Held by rule", "Requests that ended, by the rule that asked.", Lines, "ops",
			Query{Expr: `sum by (rule) (rate(heldcall_rule_holds_total{$sel}[$__rate_interval]))`, Legend: "{{rule}}"}),
		panel("Decisions by reviewer", "Decisions of reviewers.", Lines, "ops",
			Query{Expr: `sum by (reviewer) (rate(heldcall_reviewer_decisions_total{$sel}[$__rate_interval]))`, Legend: "{{reviewer}}"}),
		panel("From decision to release", "From the last decision of a turn to its release.", Lines, "s",
			Query{Expr: `histogram_quantile(0.5, sum by (le) (rate(heldcall_decision_to_release_seconds_bucket{$sel}[$__rate_interval])))`, Legend: "p50"},
			Query{Expr: `histogram_quantile(0.99, sum by (le) (rate(heldcall_decision_to_release_seconds_bucket{$sel}[$__rate_interval])))`, Legend: "p99"}),
		panel("Errors", "Answers that were not released, what the store could not do, and calls without an answer in time.", Lines, "",
			Query{Expr: `sum(increase(heldcall_failed_closed_total{$sel}[$__rate_interval]))`, Legend: "not released"},
			Query{Expr: `sum(increase(heldcall_store_errors_total{$sel}[$__rate_interval]))`, Legend: "store"},
			Query{Expr: `sum(increase(heldcall_calls_total{$sel,outcome="expired"}[$__rate_interval]))`, Legend: "expired"}),
	}}
}

// habits is what decisions say about the policy and about people.
func habits() Row {
	bars := func(title, description, legend, expr string) Panel {
		return Panel{Title: title, Description: description, Kind: Bars, Width: 12, Queries: []Query{{Expr: expr, Legend: legend}}}
	}
	return Row{"What should become a rule, and who decides", true, []Panel{
		bars("What should become a rule", "Tools about which people were asked most in the time that is shown, and that they always approved. `heldcall policy learn` proposes rules for them.", "{{tool}}",
			`topk(10, sum by (tool) (increase(heldcall_holds_total{$sel,outcome="approved"}[$__range])) > 2 unless on (tool) sum by (tool) (increase(heldcall_holds_total{$sel,outcome="denied"}[$__range])) > 0)`),
		bars("Who decides", "Decisions in the time that is shown, by reviewer.", "{{reviewer}}",
			`topk(10, sum by (reviewer) (increase(heldcall_reviewer_decisions_total{$sel}[$__range])))`),
	}}
}

func traffic() Row {
	return Row{"Traffic and latency", true, []Panel{
		rates("Requests by route", "Requests of agents.", "heldcall_requests_total", "route"),
		rates("Requests by status", "What agents were answered.", "heldcall_requests_total", "status"),
		rates("Answers by outcome", "How the answers of gated routes ended.", "heldcall_turns_total", "outcome"),
		quantiles("Latency added", "What heldcall's own work added: before the upstream request, and from the last ruling to the release. Time that people took is not in it.", "heldcall_overhead_seconds", ""),
		quantiles("Upstream's first byte", "From the request to upstream to the head of its answer.", "heldcall_upstream_first_byte_seconds", "dialect"),
		quantiles("From decision to release", "From the last decision of a turn to its release.", "heldcall_decision_to_release_seconds", ""),
		{Title: "Open streams", Description: "Answers that are being written to agents, held ones included.", Kind: Lines, Width: 8, Queries: []Query{{Expr: `sum by (instance) (heldcall_open_streams{$sel})`, Legend: "{{instance}}"}}},
		rates("Refused requests", "Requests that heldcall answered with an error of its own before asking upstream.", "heldcall_refused_requests_total", "code"),
		{Title: "Continuations and spliced turns", Description: "Upstream requests that send a denial to the model, and hidden turns put back into agents' requests. A steady stream of continuations is a model that repeats denied calls.", Kind: Lines, Unit: "ops", Width: 8, Queries: []Query{
			{Expr: `sum(rate(heldcall_continuations_total{$sel}[$__rate_interval]))`, Legend: "continuations"},
			{Expr: `sum(rate(heldcall_spliced_turns_total{$sel}[$__rate_interval]))`, Legend: "spliced turns"},
		}},
	}}
}

func calls() Row {
	return Row{"Calls", true, []Panel{
		rates("Verdicts", "Verdicts of policy on calls.", "heldcall_call_verdicts_total", "verdict"),
		rates("Calls by outcome", "How calls ended.", "heldcall_calls_total", "outcome"),
		rates("Denials by rule", "Calls that policy denied, by the rule.", "heldcall_rule_denials_total", "rule"),
		{Title: "Expiries", Description: "Calls without an answer in time.", Kind: Lines, Width: 8, Queries: []Query{{Expr: `sum(increase(heldcall_calls_total{$sel,outcome="expired"}[$__rate_interval]))`, Legend: "expired"}}},
		rates("Holds by tool", "Requests that ended, by tool. Tools beyond the first 50 are other.", "heldcall_holds_total", "tool"),
		rates("Hosted tools", "Offers of tools that the provider runs, by verdict.", "heldcall_hosted_tools_total", "verdict"),
	}}
}

func people() Row {
	return Row{"People", true, []Panel{
		{Title: "Waiting", Description: "Pending requests. Replicas that share a state report the same number.", Kind: Lines, Width: 8, Queries: []Query{{Expr: `max by (instance) (heldcall_requests_pending{$sel})`, Legend: "{{instance}}"}}},
		{Title: "Oldest waiting", Description: "Age of the oldest pending request. If it is near the time-out of your rules, no reviewer is active.", Kind: Lines, Unit: "s", Width: 8, Queries: []Query{{Expr: `max by (instance) (heldcall_request_oldest_pending_age_seconds{$sel})`, Legend: "{{instance}}"}}},
		quantiles("Time to decision by tool", "From a request to the decision of a reviewer that ended it.", "heldcall_time_to_decision_seconds", "tool"),
		rates("Decisions by channel", "Decisions of reviewers, by the channel they came over.", "heldcall_decisions_total", "channel", "action"),
		rates("Decisions by group", "Decisions of reviewers, by the group that was asked.", "heldcall_group_decisions_total", "group", "action"),
		{Title: "Held turns", Description: "Held turns in the store, by the state of their agent. Detached turns wait for their agent to come back. Replicas that share a state report the same numbers.", Kind: Lines, Width: 8, Queries: []Query{{Expr: `max by (agent) (heldcall_turns_stored{$sel})`, Legend: "{{agent}}"}}},
		quantiles("Length of holds", "From a request to its end, by how it ended.", "heldcall_hold_duration_seconds", "outcome"),
	}}
}

func channels() Row {
	longest := func(title, description, unit, metric string) Panel {
		return Panel{Title: title, Description: description, Kind: Lines, Unit: unit, Width: 8, Queries: []Query{{Expr: fmt.Sprintf(`max by (channel) (%s{$sel})`, metric), Legend: "{{channel}}"}}}
	}
	return Row{"Channels", true, []Panel{
		rates("Deliveries", "Cards handed to channels, by how that ended. failed is tried again.", "heldcall_notify_deliveries_total", "channel", "outcome"),
		quantiles("From a request to the channel", "From the creation of a request until the channel's service has accepted its card, without routes that notify later.", "heldcall_notify_latency_seconds", "channel"),
		rates("Deliveries tried again", "Each with a pause that grows. One channel's do not delay another's.", "heldcall_notify_retries_total", "channel"),
		longest("Queued cards", "Cards that are not delivered to a channel yet.", "", "heldcall_notify_waiting"),
		longest("Oldest waiting card", "Age of the oldest undelivered card: the delay of the channel.", "s", "heldcall_notify_oldest_seconds"),
	}}
}

func state() Row {
	return Row{"Failing closed, NATS and the store", true, []Panel{
		rates("Failed closed", "Answers that were not released, by why. answer_not_understood: an upstream sent an answer that heldcall cannot read with certainty.", "heldcall_failed_closed_total", "code"),
		rates("Store errors", "What the store could not do.", "heldcall_store_errors_total", "op"),
		rates("Store errors of the data plane", "What could not be recorded or looked up for an answer.", "heldcall_proxy_store_errors_total", "operation"),
		quantiles("Writes", "What writes took until NATS had them on disk.", "heldcall_store_write_seconds", ""),
		{Title: "NATS", Description: "1 while the connection is up.", Kind: Lines, Width: 8, Queries: []Query{
			{Expr: `min by (instance) (heldcall_nats_connected{$sel})`, Legend: "connected, {{instance}}"},
			{Expr: `sum by (instance) (increase(heldcall_nats_reconnects_total{$sel}[$__rate_interval]))`, Legend: "reconnects, {{instance}}"},
			{Expr: `sum by (instance) (increase(heldcall_store_restarts_total{$sel}[$__rate_interval]))`, Legend: "restarts of the embedded server, {{instance}}"},
		}},
		{Title: "Policy", Description: "1 if the last load of every policy file succeeded; and loads of changed files.", Kind: Lines, Width: 8, Queries: []Query{
			{Expr: `min by (instance) (heldcall_policy_valid{$sel})`, Legend: "in force, {{instance}}"},
			{Expr: `sum by (result) (increase(heldcall_policy_reloads_total{$sel}[$__rate_interval]))`, Legend: "{{result}}"},
		}},
	}}
}

func process() Row {
	gauge := func(title, description, unit, metric string) Panel {
		return Panel{Title: title, Description: description, Kind: Lines, Unit: unit, Width: 8, Queries: []Query{{Expr: fmt.Sprintf(`max by (instance) (%s{$sel})`, metric), Legend: "{{instance}}"}}}
	}
	return Row{"Console and process", true, []Panel{
		rates("Console requests", "Requests to the console, by status.", "heldcall_console_requests_total", "status"),
		gauge("Event streams", "Event streams that are open.", "", "heldcall_console_event_streams"),
		{Title: "Versions", Description: "Instances by the heldcall they run.", Kind: Lines, Width: 8, Queries: []Query{{Expr: `count by (version) (heldcall_build_info{$sel})`, Legend: "{{version}}"}}},
		gauge("Memory", "Resident memory.", "bytes", "process_resident_memory_bytes"),
		{Title: "CPU", Description: "Cores in use.", Kind: Lines, Width: 8, Queries: []Query{{Expr: `sum by (instance) (rate(process_cpu_seconds_total{$sel}[$__rate_interval]))`, Legend: "{{instance}}"}}},
		gauge("Goroutines", "Each held answer has a few.", "", "go_goroutines"),
	}}
}

// rates shows how often something is counted, by some labels.
func rates(title, description, metric string, labels ...string) Panel {
	by, legend := labels[0], "{{"+labels[0]+"}}"
	for _, label := range labels[1:] {
		by, legend = by+", "+label, legend+" {{"+label+"}}"
	}
	return Panel{Title: title, Description: description, Kind: Lines, Unit: "ops", Width: 8, Queries: []Query{
		{Expr: fmt.Sprintf(`sum by (%s) (rate(%s{$sel}[$__rate_interval]))`, by, metric), Legend: legend},
	}}
}

// quantiles shows the median and the slow end of a histogram, by a label unless
// that is "".
func quantiles(title, description, metric, label string) Panel {
	p := Panel{Title: title, Description: description, Kind: Lines, Unit: "s", Width: 8}
	by, legend := "le", ""
	if label != "" {
		by, legend = "le, "+label, " {{"+label+"}}"
	}
	for _, q := range []struct{ name, value string }{{"p50", "0.5"}, {"p99", "0.99"}} {
		p.Queries = append(p.Queries, Query{
			Expr: fmt.Sprintf(`histogram_quantile(%s, sum by (%s) (rate(%s_bucket{$sel}[$__rate_interval])))`, q.value, by, metric), Legend: q.name + legend,
		})
	}
	return p
}
