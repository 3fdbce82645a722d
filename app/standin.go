package app

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// StandIns returns a substitute key for agents, by the upstream key that it replaces. A
// substitute is the same each time, and the upstream's key cannot be computed from it.
// From then on the upstream's key is used only for requests with the substitute. If a
// client in proxy.clients has the upstream's key, the proxy accepts the substitute for
// that client too.
func (c *Config) StandIns() map[string]string {
	standIns := make(map[string]string)
	c.Proxy.Upstreams = slices.Clone(c.Proxy.Upstreams)
	for i, u := range c.Proxy.Upstreams {
		if key := string(u.APIKey); key != "" {
			standIns[key] = standIn(key)
			c.Proxy.Upstreams[i].StandIn = standIns[key]
		}
	}
	for _, client := range c.Proxy.Clients {
		for key, instead := range standIns {
			if client.digest() == (Client{Key: Secret(key)}).digest() {
				same := client
				same.Key, same.KeySHA256 = Secret(instead), ""
				c.Proxy.Clients = append(c.Proxy.Clients, same)
			}
		}
	}
	return standIns
}

// standIn makes the substitute for a key. It keeps the prefix, by which clients
// recognise the provider. A substitute is its own.
func standIn(key string) string {
	if standInForm.MatchString(key) { // in a command of another `heldcall run`
		return key
	}
	prefix := "sk-"
	if strings.HasPrefix(key, "sk-ant-") {
		prefix = "sk-ant-"
	}
	sum := sha256.Sum256([]byte("heldcall stand-in for " + key))
	return prefix + "heldcall-" + hex.EncodeToString(sum[:16])
}

// standInForm is the form of substitutes.
var standInForm = regexp.MustCompile(`^sk-(ant-)?heldcall-[0-9a-f]{32}$`)

// OwnSecrets returns the secrets that heldcall alone uses: those of channels, of the
// sign-in, of tracing, and in the URLs of NATS and of proxies to upstreams. Keys of
// upstreams and clients are not among them.
func (c *Config) OwnSecrets() []string {
	var found []string
	for _, part := range []any{c.Console, c.Notify, c.Tracing} {
		found = appendSecrets(found, reflect.ValueOf(part))
	}
	addresses := strings.Split(c.NATS.URL, ",")
	for _, u := range c.Proxy.Upstreams {
		addresses = append(addresses, string(u.Proxy))
	}
	for _, address := range addresses {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil || u.User == nil {
			continue
		}
		secret, ok := u.User.Password()
		if !ok {
			secret = u.User.Username() // a token
		}
		if secret != "" {
			found = append(found, secret, u.User.String())
		}
	}
	return found
}

func appendSecrets(found []string, v reflect.Value) []string {
	switch {
	case v.Type() == reflect.TypeFor[Secret]():
		if v.String() != "" {
			found = append(found, string(v.Interface().(Secret)))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				found = appendSecrets(found, v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			found = appendSecrets(found, v.Index(i))
		}
	}
	return found
}
