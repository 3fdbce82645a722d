package dashboards

import (
	"bytes"
	"encoding/json"
	"strings"
)

const (
	panelHeight = 8
	columns     = 24
)

// selector replaces $sel in an expression.
const selector = `job=~"$job",instance=~"$instance"`

func (q Query) selected() string { return strings.ReplaceAll(q.Expr, "$sel", selector) }

// object is a JSON object; its keys are written in order of the alphabet.
type object = map[string]any

// JSON writes the dashboard as Grafana's provisioning and its import read it.
// The same dashboard gives the same bytes.
func (d Dashboard) JSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"uid": d.UID, "title": d.Title, "description": d.Description,
		"tags": []string{"heldcall"}, "schemaVersion": 39, "editable": true, "graphTooltip": 1,
		"refresh": "30s", "time": object{"from": "now-6h", "to": "now"}, "timezone": "browser",
		"templating": object{"list": variables()}, "links": links(),
		"panels": d.panels(),
	})
	return out.Bytes(), err
}

// source is the data source that the reader of the dashboard chooses.
func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// variables are what the reader chooses at the top.
func variables() []object {
	const inbox = "http://127.0.0.1:4142"
	chosen := func(name, label, query string) object {
		return object{
			"name": name, "label": label, "type": "query", "datasource": source(),
			"query": object{"query": query, "refId": name}, "definition": query, "refresh": 2, "sort": 1,
			"multi": true, "includeAll": true, "allValue": ".*",
			"current": object{"text": []string{"All"}, "value": []string{"$__all"}},
		}
	}
	return []object{
		{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1},
		chosen("job", "Job", "label_values(heldcall_build_info, job)"),
		chosen("instance", "Instance", `label_values(heldcall_build_info{job=~"$job"}, instance)`),
		{"name": "inbox", "label": "Inbox", "type": "textbox", "query": inbox, "current": object{"text": inbox, "value": inbox}},
	}
}

// links are at the top of the page.
func links() []object {
	link := func(title, url string) object {
		return object{"title": title, "type": "link", "icon": "external link", "url": url, "targetBlank": true}
	}
	return []object{
		link("Inbox", "${inbox}"),
		link("Runbook", "https://github.com/heldcall/heldcall/blob/main/docs/operate.md#dashboard-and-alerts"),
	}
}

// panels lays the rows out from top to bottom. Those of a closed row are in it.
func (d Dashboard) panels() []object {
	var laid []object
	id, y := 0, 0
	for _, row := range d.Rows {
		id++
		heading := object{"id": id, "type": "row", "title": row.Title, "collapsed": row.Closed, "panels": []object{}, "gridPos": position(0, y, columns, 1)}
		laid = append(laid, heading)
		inside, height := row.objects(id, y+1)
		id, y = id+len(inside), y+1
		if row.Closed {
			heading["panels"] = inside
			continue
		}
		laid, y = append(laid, inside...), y+height
	}
	return laid
}

// objects lays the panels of a row out from left to right, from a height on. The id of each follows that of the one before.
func (r Row) objects(id, top int) (laid []object, height int) {
	x, y := 0, top
	for _, panel := range r.Panels {
		if x+panel.Width > columns {
			x, y = 0, y+panelHeight
		}
		id++
		one := panel.object()
		one["id"], one["gridPos"] = id, position(x, y, panel.Width, panelHeight)
		laid = append(laid, one)
		x += panel.Width
	}
	return laid, y + panelHeight - top
}

func position(x, y, w, h int) object { return object{"x": x, "y": y, "w": w, "h": h} }

func (p Panel) object() object {
	targets := make([]object, len(p.Queries))
	overrides := []object{}
	for i, query := range p.Queries {
		targets[i] = object{
			"refId": string(rune('A' + i)), "datasource": source(),
			"expr": query.selected(), "legendFormat": query.Legend, "range": p.Kind == Lines, "instant": p.Kind != Lines,
		}
		if query.Unit != "" || query.Limit != (Limit{}) {
			overrides = append(overrides, query.override())
		}
	}
	defaults := object{"unit": unitOr(p.Unit), "min": 0, "thresholds": p.Limit.thresholds(), "mappings": p.Limit.mappings()}
	options := object{}
	switch p.Kind {
	case Lines:
		custom := object{"drawStyle": "line", "fillOpacity": 10, "showPoints": "auto", "spanNulls": false}
		if p.Limit != (Limit{}) {
			custom["thresholdsStyle"] = object{"mode": "dashed"}
		}
		defaults["custom"] = custom
		options["legend"] = object{"displayMode": "list", "placement": "bottom", "showLegend": true}
		options["tooltip"] = object{"mode": "multi", "sort": "desc"}
	case Stat:
		defaults["color"] = object{"mode": "thresholds"}
		options["colorMode"], options["graphMode"], options["textMode"] = "value", "none", "auto"
		options["reduceOptions"] = lastValue()
	case Bars:
		options["displayMode"], options["orientation"] = "basic", "horizontal"
		options["reduceOptions"] = lastValue()
	}
	return object{
		"type": string(p.Kind), "title": p.Title, "description": p.Description, "datasource": source(),
		"targets": targets, "options": options, "fieldConfig": object{"defaults": defaults, "overrides": overrides},
	}
}

func lastValue() object {
	return object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
}

// override is what differs for the values of one query from those of its panel.
func (q Query) override() object {
	return object{
		"matcher": object{"id": "byName", "options": q.Legend},
		"properties": []object{
			{"id": "unit", "value": unitOr(q.Unit)},
			{"id": "thresholds", "value": q.Limit.thresholds()},
			{"id": "mappings", "value": q.Limit.mappings()},
		},
	}
}

func unitOr(unit string) string {
	if unit == "" {
		return "short"
	}
	return unit
}

// The colours of values.
const good, bad, plain = "green", "red", "text"

// thresholds are the colours from a value on.
func (l Limit) thresholds() object {
	steps := []object{{"color": plain, "value": nil}}
	switch l.kind {
	case aboveLimit:
		steps = []object{{"color": good, "value": nil}, {"color": bad, "value": l.value}}
	case belowLimit:
		steps = []object{{"color": bad, "value": nil}, {"color": good, "value": l.value}}
	case okLimit:
		steps = []object{{"color": bad, "value": nil}, {"color": good, "value": 1}}
	}
	return object{"mode": "absolute", "steps": steps}
}

// mappings are the words for values: of a state, and for no value.
func (l Limit) mappings() []object {
	all := []object{{"type": "special", "options": object{"match": "nan", "result": object{"text": "none", "color": plain, "index": 2}}}}
	if l.kind == okLimit {
		all = append(all, object{"type": "value", "options": object{
			"0": object{"text": "fault", "color": bad, "index": 0}, "1": object{"text": "ok", "color": good, "index": 1},
		}})
	}
	return all
}
