// Package dashboards makes heldcall's Grafana dashboard: [Heldcall] defines it,
// [Dashboard.JSON] encodes it for Grafana. The result is in grafana/heldcall.json.
// The rules and alerts for Prometheus, in prometheus/rules.yaml, are written by hand.
// The folder check tests both against the metrics of a running heldcall.
package dashboards

// Dashboard is one Grafana dashboard.
type Dashboard struct {
	UID, Title, Description string
	Rows                    []Row
}

// Row is a heading with the panels below it.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel shows some queries. Its description explains the values.
type Panel struct {
	Title, Description string
	Kind               Kind
	Unit               string // as Grafana names it: "s", "reqps", "bytes"; "" is a plain number
	Width              int    // of 24 columns
	Queries            []Query
	Healthy            Health // of a [Stat]: which values are coloured as faults
}

// Kind is how a panel shows its queries.
type Kind string

// The kinds of panel.
const (
	Lines Kind = "timeseries"
	Stat  Kind = "stat"
)

// Health defines which values of a number are a fault.
type Health int

// The healthy values.
const (
	Any  Health = iota // a number is a number
	Zero               // more than zero is a fault
	One                // less than one is a fault
)

// Query is one PromQL expression. $sel in it is replaced by the labels
// that the dashboard's variables select.
type Query struct {
	Expr   string
	Legend string // with {{label}}
}

// Queries are all expressions of the dashboard, as in its JSON.
func (d Dashboard) Queries() []Query {
	var all []Query
	for _, row := range d.Rows {
		for _, panel := range row.Panels {
			for _, query := range panel.Queries {
				all = append(all, Query{query.selected(), query.Legend})
			}
		}
	}
	return all
}
