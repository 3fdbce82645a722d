package dashboards

import (
	"bytes"
	"encoding/json"
	"strings"
)

const (
	panelHeight = 8
	statHeight  = 4
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
		"templating": object{"list": variables()},
		"panels":     d.panels(),
	})
	return out.Bytes(), err
}

// source is the data source that the reader of the dashboard chooses.
func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// variables are what the reader chooses at the top.
func variables() []object {
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
	}
}

// panels lays the rows out from top to bottom, their panels from left to right.
func (d Dashboard) panels() []object {
	var laid []object
	y := 0
	add := func(panel object, x, w, h int) {
		panel["id"] = len(laid) + 1
		panel["gridPos"] = object{"x": x, "y": y, "w": w, "h": h}
		laid = append(laid, panel)
	}
	for _, row := range d.Rows {
		add(object{"type": "row", "title": row.Title, "collapsed": false, "panels": []object{}}, 0, columns, 1)
		y++
		x, height := 0, 0
		for _, panel := range row.Panels {
			if x+panel.Width > columns {
				y += height
				x, height = 0, 0
			}
			add(panel.object(), x, panel.Width, panel.height())
			x, height = x+panel.Width, max(height, panel.height())
		}
		y += height
	}
	return laid
}

func (p Panel) height() int {
	if p.Kind == Stat {
		return statHeight
	}
	return panelHeight
}

func (p Panel) object() object {
	targets := make([]object, len(p.Queries))
	for i, query := range p.Queries {
		targets[i] = object{
			"refId": string(rune('A' + i)), "datasource": source(),
			"expr": query.selected(), "legendFormat": query.Legend, "range": p.Kind == Lines, "instant": p.Kind == Stat,
		}
	}
	defaults := object{"unit": p.unit(), "min": 0}
	options := object{}
	switch p.Kind {
	case Lines:
		defaults["custom"] = object{"drawStyle": "line", "fillOpacity": 10, "showPoints": "auto", "spanNulls": false}
		options["legend"] = object{"displayMode": "list", "placement": "bottom", "showLegend": true}
		options["tooltip"] = object{"mode": "multi", "sort": "desc"}
	case Stat:
		defaults["color"] = object{"mode": "thresholds"}
		defaults["thresholds"] = object{"mode": "absolute", "steps": p.Healthy.steps()}
		options["colorMode"], options["graphMode"], options["textMode"] = "value", "none", "auto"
		options["reduceOptions"] = object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
	}
	return object{
		"type": string(p.Kind), "title": p.Title, "description": p.Description, "datasource": source(),
		"targets": targets, "options": options, "fieldConfig": object{"defaults": defaults, "overrides": []object{}},
	}
}

func (p Panel) unit() string {
	if p.Unit == "" {
		return "short"
	}
	return p.Unit
}

// steps are the colours from a value on.
func (h Health) steps() []object {
	const good, bad, plain = "green", "red", "text"
	switch h {
	case Zero:
		return []object{{"color": good, "value": nil}, {"color": bad, "value": 0.000001}}
	case One:
		return []object{{"color": bad, "value": nil}, {"color": good, "value": 1}}
	default:
		return []object{{"color": plain, "value": nil}}
	}
}
