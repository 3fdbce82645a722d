package app

import (
	"reflect"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// changedKeys returns the keys whose values differ, in the order of the configuration. A list is one key.
func (c *Config) changedKeys(other *Config) []string {
	keys := changedIn("", reflect.ValueOf(*c), reflect.ValueOf(*other))
	if i := slices.Index(keys, "proxy.upstreams"); i >= 0 && c.Proxy.sameUpstreams(&other.Proxy) {
		keys[i] = "proxy.upstreams[].api_key"
	}
	return keys
}

// changedIn returns the keys below a key whose values differ.
func changedIn(key string, a, b reflect.Value) (keys []string) {
	if a.Kind() != reflect.Struct {
		both := a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0
		if !both && !reflect.DeepEqual(a.Interface(), b.Interface()) {
			keys = append(keys, key)
		}
		return keys
	}
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		if key != "" {
			name = strictyaml.Join(key, name)
		}
		keys = append(keys, changedIn(name, a.Field(i), b.Field(i))...)
	}
	return keys
}

// sameUpstreams reports whether the upstreams differ in their keys at most.
func (c *ProxyConfig) sameUpstreams(other *ProxyConfig) bool {
	return slices.EqualFunc(c.Upstreams, other.Upstreams, func(a, b Upstream) bool {
		a.APIKey, b.APIKey, a.StandIn, b.StandIn = "", "", "", ""
		return a == b
	})
}
