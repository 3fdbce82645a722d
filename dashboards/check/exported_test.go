package check_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/demo"
)

// openStage is a running heldcall with its scripted model and agent.
func openStage(t *testing.T) *demo.Stage {
	t.Helper()
	config := app.DefaultConfig(func(string) (string, bool) { return "", false })
	config.Proxy.Listen, config.Console.Listen, config.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	nobody := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nobody.Close)
	config.Notify.Slack = []app.SlackConfig{{Name: "slack", BotToken: "xoxb-1", Channel: "C1", APIURL: nobody.URL + "/"}}
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(bot.Close)
	config.Notify.Webhooks = []app.WebhookConfig{{Name: "bot", URL: app.Secret(bot.URL), Secrets: []app.Secret{"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}}}
	stage, err := demo.Open(t.Context(), demo.Options{Config: config, Version: "v0.0.0-check"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	})
	return stage
}

// play plays the demo, as `heldcall demo --auto` does.
func play(ctx context.Context, t *testing.T, stage *demo.Stage) {
	t.Helper()
	if err := stage.PlayAll(ctx, func(demo.Line) {}); err != nil {
		t.Fatal(err)
	}
}

// metric has the values of each label of a metric.
type metric map[string][]string

// scraped are labels that Prometheus adds to all it scrapes; they can have any
// value.
var scraped = []string{"job", "instance"}

// exported is what a heldcall exports that has played the demo, under the names
// that queries use, and what Prometheus itself adds.
func exported(t *testing.T) map[string]metric {
	t.Helper()
	stage := openStage(t)
	play(t.Context(), t, stage)
	metrics := map[string]metric{"up": {}}
	for range 2 { // the console counts a request when it has been answered
		resp, err := http.Get(stage.Console + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for name, labels := range namesOf(family) {
				metrics[name] = labels
			}
		}
	}
	return metrics
}

// namesOf are the names of a family's series, with their labels.
func namesOf(family *dto.MetricFamily) map[string]metric {
	labels := metric{}
	for _, one := range family.GetMetric() {
		for _, pair := range one.GetLabel() {
			if !slices.Contains(labels[pair.GetName()], pair.GetValue()) {
				labels[pair.GetName()] = append(labels[pair.GetName()], pair.GetValue())
			}
		}
	}
	name := family.GetName()
	if family.GetType() != dto.MetricType_HISTOGRAM {
		return map[string]metric{name: labels}
	}
	buckets := metric{"le": {"+Inf"}}
	for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
		buckets["le"] = append(buckets["le"], fmt.Sprint(bucket.GetUpperBound()))
	}
	for label, values := range labels {
		buckets[label] = values
	}
	return map[string]metric{name + "_bucket": buckets, name + "_sum": labels, name + "_count": labels}
}
