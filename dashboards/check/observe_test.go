//go:build observe

package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/demo"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// patience bounds every wait. It is generous: nothing is timed with it.
const patience = 2 * time.Minute

// promtool takes the rules, and its tests of them pass.
func TestPromtoolTakesTheRules(t *testing.T) {
	run(t, "promtool", "check", "rules", rulesFile)
	run(t, "promtool", "test", "rules", rulesTest)
}

// A real Prometheus scrapes a heldcall that plays the demo. Then every query of
// the dashboard finds data, and so does every rule that records.
func TestEveryQueryFindsData(t *testing.T) {
	stage := openStage(t)
	p := startPrometheus(t, strings.TrimPrefix(stage.Console, "http://"))
	began := time.Now()
	p.awaitValue(t, `up`, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	play(ctx, t, stage)
	p.awaitCalls(t, stage)
	encore(ctx, t, stage) // what appeared while the demo played now rises
	p.awaitCalls(t, stage)

	for _, query := range fileQueries(t) {
		p.await(t, inTime(query.Expr), began)
	}
	for _, rule := range readRules(t) {
		if rule.Record != "" {
			p.await(t, rule.Record, began)
		}
	}
	// That one scrape took longer than its second, of which HeldcallDown is pending, is no fault of heldcall.
	alerts := `ALERTS{alertname=~"HeldcallCanaryFailed|HeldcallNATSDisconnected|HeldcallStoreErrors|HeldcallFailedClosed|HeldcallAnswerNotUnderstood"} or ALERTS{alertname="HeldcallDown", alertstate="firing"}`
	if firing := p.query(t, alerts, began); len(firing) > 0 {
		t.Errorf("the demo sets off alerts: %s", firing)
	}
	p.rulesAreHealthy(t)
}

// encore is one more call that is held, and approved.
func encore(ctx context.Context, t *testing.T, stage *demo.Stage) {
	t.Helper()
	agent, err := stage.NewAgent("encore", func(demo.Line) {})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	from, asked := stage.Ledger.Len(), make(chan error, 1)
	go func() { asked <- agent.Ask(ctx, demo.TaskTidy) }()
	for i := from; ; i++ {
		event, err := stage.Ledger.At(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if event.Type != approvals.EventApprovalRequired {
			continue
		}
		if _, err := stage.Client.Decide(ctx, approvals.Decision{RequestID: event.RequestID, Action: approvals.ActionApprove}); err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
}

// awaitCalls waits until Prometheus has seen every call that has ended so far.
func (p *prometheus) awaitCalls(t *testing.T, stage *demo.Stage) {
	t.Helper()
	p.awaitValue(t, `sum(heldcall_calls_total)`, total(t, stage, "heldcall_calls_total"))
}

// total adds up the series of a counter as heldcall exports them.
func total(t *testing.T, stage *demo.Stage, name string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(string(get(t, stage.Console+"/metrics"))) {
		if fields := strings.Fields(line); len(fields) == 2 && strings.HasPrefix(line, name+"{") {
			value, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += value
		}
	}
	return sum
}

// prometheus is a running Prometheus.
type prometheus struct{ url string }

// startPrometheus starts one that scrapes a target every second, with heldcall's
// rules, until the end of the test.
func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	content := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n  - job_name: heldcall\n    static_configs: [{targets: [%q]}]\n", rules, target)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "promtool", "check", "config", config)
	free, err := fakemodel.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	server := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+free[0])
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatalf("start Prometheus: %v; `make observe` installs it", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
		if t.Failed() {
			t.Logf("Prometheus:\n%s", &log)
		}
	})
	return &prometheus{"http://" + free[0]}
}

// sample is one series of an answer.
type sample struct {
	Metric map[string]string
	Values [][2]any
}

// query returns the samples of an expression since began, without NaN.
func (p *prometheus) query(t *testing.T, expr string, began time.Time) []sample {
	t.Helper()
	parameters := url.Values{
		"query": {expr}, "step": {"1s"},
		"start": {began.Format(time.RFC3339Nano)}, "end": {time.Now().Format(time.RFC3339Nano)},
	}
	var answer struct {
		Status, Error string
		Data          struct{ Result []sample }
	}
	body := get(t, p.url+"/api/v1/query_range?"+parameters.Encode())
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v, %s", expr, err, body)
	}
	var found []sample
	for _, s := range answer.Data.Result {
		numbers := s.Values[:0]
		for _, v := range s.Values {
			if f, err := strconv.ParseFloat(v[1].(string), 64); err == nil && !math.IsNaN(f) {
				numbers = append(numbers, v)
			}
		}
		if s.Values = numbers; len(numbers) > 0 {
			found = append(found, s)
		}
	}
	return found
}

// await waits until an expression has found data. Rates need two scrapes, and
// rules an evaluation.
func (p *prometheus) await(t *testing.T, expr string, began time.Time) {
	t.Helper()
	for start := time.Now(); len(p.query(t, expr, began)) == 0; time.Sleep(200 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Errorf("finds no data: %s", expr)
			return
		}
	}
}

// awaitValue waits until the last value of an expression is at least this.
func (p *prometheus) awaitValue(t *testing.T, expr string, want float64) {
	t.Helper()
	var found []byte
	for start := time.Now(); time.Since(start) < patience; time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get(p.url + "/api/v1/query?" + url.Values{"query": {expr}}.Encode())
		if err != nil {
			continue // it is starting
		}
		found, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
		var answer struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		if json.Unmarshal(found, &answer) != nil || len(answer.Data.Result) != 1 {
			continue
		}
		if value, err := strconv.ParseFloat(answer.Data.Result[0].Value[1].(string), 64); err == nil && value >= want {
			return
		}
	}
	t.Fatalf("%s is not %v: %s", expr, want, found)
}

// rulesAreHealthy fails for a rule that Prometheus cannot evaluate.
func (p *prometheus) rulesAreHealthy(t *testing.T) {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := json.Unmarshal(get(t, p.url+"/api/v1/rules"), &answer); err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rules++; rule.Health != "ok" {
				t.Errorf("%s is %s: %s", rule.Name, rule.Health, rule.LastError)
			}
		}
	}
	if want := len(readRules(t)); rules != want {
		t.Errorf("Prometheus has %d rules, the file %d", rules, want)
	}
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v; `make observe` installs missing programs\n%s", name, strings.Join(args, " "), err, out)
	}
}
