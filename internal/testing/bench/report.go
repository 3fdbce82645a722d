package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is one part of the report.
type table struct {
	title  string
	note   string
	header []string
	rows   [][]string
}

// tables renders the results for people.
func tables(r results) []table {
	var ts []table
	for _, l := range r.Load {
		ts = append(ts, loadTable(l))
	}
	for _, p := range r.Paced {
		ts = append(ts, pacedTable(p))
	}
	if len(r.Memory) > 0 {
		ts = append(ts, memoryTable(r))
	}
	if len(r.Held) > 0 {
		ts = append(ts, decisionTable(r.Held))
	}
	if len(r.Many) > 0 {
		ts = append(ts, manyTable(r.Many))
	}
	if len(r.History) > 0 {
		ts = append(ts, historyTable(r.History))
	}
	if len(r.Leaving) > 0 {
		ts = append(ts, leavingTable(r.Leaving))
	}
	if len(r.Channels) > 0 {
		ts = append(ts, channelTable(r.Channels))
	}
	if len(r.Judging) > 0 {
		ts = append(ts, judgingTable(r.Judging))
	}
	if i := r.Integrity; i != nil {
		ts = append(ts, table{
			title:  "Correctness: 11 streams at once of each dialect, cut at random bytes, some with a tool call at the end",
			header: []string{"hop", "events", "lost", "torn", "reordered", "seconds"},
			rows: [][]string{{
				i.Hop, fmt.Sprint(i.Events), fmt.Sprint(i.Lost), fmt.Sprint(i.Torn), fmt.Sprint(i.Reordered),
				fmt.Sprintf("%.1f", i.Seconds),
			}},
		})
	}
	if len(r.Targets) > 0 {
		ts = append(ts, targetTable(r.Targets))
	}
	return ts
}

func loadTable(l loadResult) table {
	unit := l.Workload.unit()
	t := table{
		title: strings.ToUpper(l.Workload.Name[:1]) + l.Workload.Name[1:],
		header: []string{
			"hop", unit + "s/s", "of fasthttp", "of TCP copy", "CPU us/" + unit, "of fasthttp's CPU", "exchange p50 us", "p99 us",
			"rest's CPU us/" + unit,
		},
	}
	for _, h := range l.Hops {
		t.rows = append(t.rows, []string{
			h.Hop, count(h.PerSecond), ratio(h.VsFasthttp), ratio(h.VsTCP), number(h.CPU, 2), ratio(h.CPUVs), number(h.P50, 0), number(h.P99, 0),
			number(h.OthersCPU, 2),
		})
	}
	return t
}

func pacedTable(p pacedResult) table {
	t := table{
		title:  fmt.Sprintf("%d paced streams, one event each 5 ms", p.Streams),
		note:   "Delay of an event in us; added is that less the median without a hop in the same round.",
		header: []string{"hop", "p50", "p99", "added p50", "added p99", "added p50 of TCP copy's", "added p99 of TCP copy's", "CPU us/event"},
	}
	for _, h := range p.Hops {
		t.rows = append(t.rows, []string{
			h.Hop, number(h.P50, 0), number(h.P99, 0), number(h.AddedP50, 0), number(h.AddedP99, 0), ratio(h.AddedP50Vs), ratio(h.AddedP99Vs),
			number(h.CPU, 1),
		})
	}
	return t
}

func memoryTable(r results) table {
	t := table{
		title:  fmt.Sprintf("Memory of a fresh process, resident, at %d streams", r.Memory[0].Streams),
		header: []string{"hop", "dialect", "idle MB", "without its program file", "KiB per open stream", "KiB per held stream", fmt.Sprintf("%s later", restTime)},
	}
	for _, m := range r.Memory {
		held, rested := "-", "-"
		for _, h := range r.Held {
			if m.Hop == h.Hop && m.Dialect == h.Dialect {
				held, rested = fmt.Sprintf("%.1f", h.PerStream/1024), fmt.Sprintf("%.1f", h.AtRest/1024)
			}
		}
		t.rows = append(t.rows, []string{m.Hop, m.Dialect, megabytes(m.Idle.Resident), megabytes(m.Idle.Own), fmt.Sprintf("%.1f", m.PerStream/1024), held, rested})
	}
	return t
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }

func decisionTable(held []heldResult) table {
	t := table{
		title:  "From a decision (REST, approve) to the call's first bytes at the agent",
		note:   fmt.Sprintf("keepalive %s; store synced to disk on each write", held[0].Keepalive),
		header: []string{"hop", "dialect", "held", "decisions", "p50 ms", "p99 ms", "max ms"},
	}
	for _, h := range held {
		t.rows = append(t.rows,
			append([]string{h.Hop, h.Dialect, "1"}, latencyCells(h.One)...),
			append([]string{h.Hop, h.Dialect, fmt.Sprint(h.Streams)}, latencyCells(h.Many)...))
	}
	return t
}

func leavingTable(ls []leaveResult) table {
	t := table{
		title:  "From an agent's leaving",
		note:   fmt.Sprintf("held calls at keepalive %s", leaveKeepalive),
		header: []string{"hop", "agent leaves", "until", "times", "p50 ms", "p99 ms", "max ms", "not within the limit"},
	}
	for _, l := range ls {
		cells := append([]string{l.Hop, l.Kind, l.Until}, latencyCells(l.Took)...)
		t.rows = append(t.rows, append(cells, fmt.Sprintf("%d (%s)", l.Missed, l.Limit)))
	}
	return t
}

func latencyCells(l latency) []string {
	if l.Samples == 0 {
		return []string{"0", "-", "-", "-"}
	}
	return []string{fmt.Sprint(l.Samples), fmt.Sprintf("%.2f", l.P50), fmt.Sprintf("%.2f", l.P99), fmt.Sprintf("%.2f", l.Max)}
}

func targetTable(targets []target) table {
	t := table{title: "Targets", header: []string{"figure", "target", "measured", ""}}
	for _, g := range targets {
		verdict := "reached"
		if !g.Reached {
			verdict = "NOT reached"
		}
		t.rows = append(t.rows, []string{g.Figure, g.Want, g.Measured, verdict})
	}
	return t
}

// number shows a median.
func number(s *spread, decimals int) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", decimals, s.Median)
}

// ratio shows a median and its quartiles.
func ratio(s *spread) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f)", s.Median, s.Q1, s.Q3)
}

// count shows a large median with its quartiles in percent of it.
func count(s *spread) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f (%+.0f%% %+.0f%%)", s.Median, 100*(s.Q1/s.Median-1), 100*(s.Q3/s.Median-1))
}

// writeText writes the tables for a terminal.
func writeText(w io.Writer, ts []table) error {
	for _, t := range ts {
		fmt.Fprintf(w, "\n%s\n", t.title)
		if t.note != "" {
			fmt.Fprintln(w, t.note)
		}
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{t.header}, t.rows...) {
			fmt.Fprintln(tw, "  "+strings.Join(row, "\t"))
		}
		if err := tw.Flush(); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}
