package intercept

import "github.com/tidwall/gjson"

// HostedFields are the fields by which some providers are told to run tools that
// stand in no list: web_search_options of OpenAI's search models, search_parameters
// of xAI, enable_search of Qwen, plugins of OpenRouter.
var HostedFields = []string{"web_search_options", "search_parameters", "enable_search", "plugins"}

// HostedBeside lists the tools that the request has the provider run by
// [HostedFields], which have to be among the fields of its form.
func (a *Asked) HostedBeside() (list []HostedTool) {
	for _, name := range HostedFields {
		v := gjson.ParseBytes(a.Field(name))
		switch {
		case v.Type == gjson.Null || v.Type == gjson.False || name == "search_parameters" && v.Get("mode").Str == "off":
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
