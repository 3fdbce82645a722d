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

// Row is a heading with the panels below it. They are hidden until a reader opens a closed row.
type Row struct {
	Title  string
	Closed bool
	Panels []Panel
}

// Panel shows some queries. Its description explains the values.
type Panel struct {
	Title, Description string
	Kind               Kind
	Unit               string // as Grafana names it: "s", "reqps", "bytes"; "" is a plain number
	Width              int    // of 24 columns
	Queries            []Query
	Limit              Limit // of all queries
}

// Kind is how a panel shows its queries.
type Kind string

// The kinds of panel.
const (
	Lines Kind = "timeseries"
	Stat  Kind = "stat"
	Bars  Kind = "bargauge" // the largest first
)

// Limit is which values of a number are a fault, which is coloured.
type Limit struct {
	kind  limitKind
	value float64
}

type limitKind int

const (
	noLimit limitKind = iota
	aboveLimit
	belowLimit
	okLimit
)

// Above returns the limit of a number that is a fault from a value on.
func Above(value float64) Limit { return Limit{aboveLimit, value} }

// Below returns the limit of a number that is a fault below a value.
func Below(value float64) Limit { return Limit{belowLimit, value} }

// OK returns the limit of a number that is 1 for "ok" and 0 for "fault", and is shown as these words.
func OK() Limit { return Limit{kind: okLimit} }

// Query is one PromQL expression. $sel in it is replaced by the labels
// that the dashboard's variables select.
type Query struct {
	Expr   string
	Legend string // with {{label}}
	// Unit and Limit are those of this query, where they differ from those of the panel; it has a legend without labels.
	Unit  string
	Limit Limit
}

// Queries are all expressions of the dashboard, as in its JSON.
func (d Dashboard) Queries() []Query {
	var all []Query
	for _, row := range d.Rows {
		for _, panel := range row.Panels {
			for _, query := range panel.Queries {
				all = append(all, Query{Expr: query.selected(), Legend: query.Legend})
			}
		}
	}
	return all
}
