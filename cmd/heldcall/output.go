package main

import "fmt"

// outputFlag selects the form of a command's output.
type outputFlag struct {
	Output string `short:"o" enum:"table,json" default:"table" placeholder:"table|json" help:"Output format: table or json."`
}

func (o outputFlag) json() bool { return o.Output == "json" }

// limitFlag bounds a list.
type limitFlag struct {
	Limit int `help:"Maximum number to list." default:"100"`
}

// AfterApply checks the flag.
func (f limitFlag) AfterApply() error {
	if f.Limit < 1 {
		return fmt.Errorf("--limit: %d is less than 1", f.Limit)
	}
	return nil
}

// collect reads pages until there are no more, or limit items.
func collect[T any](limit int, read func(limit int, cursor string) ([]T, string, error)) (items []T, cursor string, err error) {
	items = []T{}
	for {
		var page []T
		if page, cursor, err = read(min(pageSize, limit-len(items)), cursor); err != nil {
			return nil, "", err
		}
		items = append(items, page...)
		if cursor == "" || len(items) >= limit {
			return items, cursor, nil
		}
	}
}
