package intercept

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// hostedMCP begins the names of hosted MCP servers. By itself it is the name of an unknown
// server.
const hostedMCP = "mcp:"

// serverName matches the names of servers that have no address.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// HostedMCP is the [HostedTool.Name] of an MCP server: its address, without parts that may
// be secret, or the provider's name of it. The label, which the agent chooses, counts only
// if there is neither.
func HostedMCP(address, connector, label string) string {
	switch {
	case address != "" && connector != "":
		return hostedMCP
	case address != "":
		return hostedMCP + serverAddress(address)
	case connector != "":
		label = connector
	}
	if !serverName.MatchString(label) {
		return hostedMCP
	}
	return hostedMCP + label
}

// serverAddress is a URL as policy compares it: scheme, host and path. It is empty for a URL
// that readers could understand in different ways.
func serverAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") ||
		strings.ContainsAny(address, "\\ ") || slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == ".." || s == "." }) {
		return ""
	}
	host := strings.ToLower(u.Host)
	if port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; strings.HasSuffix(host, port) {
		host = strings.TrimSuffix(host, port)
	}
	return u.Scheme + "://" + host + u.EscapedPath()
}

// HostedFields are request fields that make providers run tools that are in no list:
// web_search_options of OpenAI's search models, search_parameters of xAI, enable_search of
// Qwen, plugins of OpenRouter, multi_agent of OpenAI, which runs agents beside the model.
var HostedFields = []string{"web_search_options", "search_parameters", "enable_search", "plugins", "multi_agent"}

// HostedBeside lists the tools that the provider runs because of [HostedFields], which must
// be among the fields of the schema.
func (a *ParsedRequest) HostedBeside() (list []HostedTool) {
	for _, name := range HostedFields {
		v := gjson.ParseBytes(a.Field(name))
		switch {
		case v.Type == gjson.Null || v.Type == gjson.False || (name == "search_parameters" && v.Get("mode").Str == "off"):
		case name == "multi_agent" && v.Get("enabled").Type == gjson.False:
		case name == "plugins" && v.IsArray():
			v.ForEach(func(_, plugin gjson.Result) bool {
				if plugin.Get("enabled").Type != gjson.False {
					list = append(list, HostedTool{Name: "plugin:" + plugin.Get("id").String()})
				}
				return true
			})
		default:
			list = append(list, HostedTool{Name: name})
		}
	}
	return list
}
