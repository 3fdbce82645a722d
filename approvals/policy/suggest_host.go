package policy

import (
	_ "embed"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

//go:embed hosts.yaml
var hostsFile []byte

// hosts are those where anybody publishes: see hosts.yaml.
type hosts struct {
	publishers map[string]int // segments of a path that name a publisher
	collectors map[string]bool
}

// knownHosts is the built-in table. It never changes.
var knownHosts = sync.OnceValue(func() *hosts {
	all := &hosts{publishers: map[string]int{}, collectors: map[string]bool{}}
	r := &strictyaml.Reader{File: "hosts.yaml"}
	r.Mapping(r.Root(hostsFile), "", []strictyaml.Key{
		{Name: "publishers", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) { all.publishers[name.Value] = r.Number(value, path, 0) })
		}},
		{Name: "collectors", Read: func(n *yaml.Node, _ string) {
			for host := range strings.FieldsSeq(n.Value) {
				all.collectors[host] = true
			}
		}},
	})
	if len(r.Errors) > 0 {
		panic("internal error: the table of hosts is not well formed: " + r.Errors.Error())
	}
	return all
})

// collects reports whether a host, or one that it is below, is a collector.
func (h *hosts) collects(host string) bool {
	for name := host; name != ""; _, name, _ = strings.Cut(name, ".") {
		if h.collectors[name] {
			return true
		}
	}
	return false
}

// segments returns how many segments of a path name whose pages these are, and whether anybody publishes on the host.
func (h *hosts) segments(host string) (n int, isPublisher bool) {
	for name := host; name != ""; _, name, _ = strings.Cut(name, ".") {
		if n, isPublisher = h.publishers[name]; isPublisher {
			return n, true
		}
	}
	return 0, false
}

// suggestHosts returns patterns for the pages below the folder of each page that a reader of the web asks for by https, and
// for all pages of the hosts: where these are named, are not of this machine's network, and belong to one publisher.
func suggestHosts(c *call.Reading) []string {
	if c.Tool.RiskOr("") != approvals.RiskMedium {
		return nil
	}
	var folders, whole []string
	for _, r := range c.Resources() {
		if r.URL.Scheme != "https" || r.URL.Port != "" || !isPublicName(r.URL.Host) {
			return nil
		}
		site := "https://" + r.URL.Host
		least, isPublisher := knownHosts().segments(r.URL.Host)
		if folder := path.Dir(r.URL.Path); folder != "/" && meansItself(folder) && (!isPublisher || (least > 0 && strings.Count(folder, "/") >= least)) {
			if pattern := site + folder + "/**"; coversURL(pattern, r.URL) {
				folders = append(folders, c.Call.Tool+"("+pattern+")")
			}
		}
		if !isPublisher {
			whole = append(whole, c.Call.Tool+"("+site+"/**)")
		}
	}
	return append(folders, whole...)
}

func coversURL(pattern string, of match.Address) bool {
	g, err := match.NewURLGlob(pattern)
	return err == nil && g.Covers(of)
}

// asksCollector reports whether a call asks a host that shows what it is sent to anybody who asks.
func asksCollector(c *call.Reading) bool {
	return c.Kind == call.URL && slices.ContainsFunc(c.Resources(), func(r call.Candidate) bool { return knownHosts().collects(r.URL.Host) })
}

// isPublicName reports whether a host is a name that the DNS of all may have, and no address.
func isPublicName(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Contains(host, ".") && !slices.Contains([]string{"local", "localhost", "internal", "lan", "test", "home", "corp"}, last)
}
