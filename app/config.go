// Package app builds heldcall from its parts: it reads the configuration, starts
// every part in order and stops them in the reverse order.
package app

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/proxy"
)

// Config is the whole configuration: the YAML file of the operator over the
// defaults. [LoadConfig] makes a valid one; [DefaultConfig] is one already.
type Config struct {
	Proxy   ProxyConfig   `yaml:"proxy"`
	Hold    HoldConfig    `yaml:"hold"`
	Runs    RunsConfig    `yaml:"runs"`
	Console ConsoleConfig `yaml:"console"`
	NATS    NATSConfig    `yaml:"nats"`
	Policy  PolicyConfig  `yaml:"policy"`
	Grants  GrantsConfig  `yaml:"grants"`
	Secrets SecretsConfig `yaml:"secrets"`
	Notify  NotifyConfig  `yaml:"notify"`
	Audit   AuditConfig   `yaml:"audit"`
	Log     LogConfig     `yaml:"log"`
	Tracing TracingConfig `yaml:"tracing"`
}

// ProxyConfig is the data plane: where agents connect and where their requests
// go.
type ProxyConfig struct {
	Listen           string          `yaml:"listen"` // host:port
	Upstreams        []Upstream      `yaml:"upstreams"`
	Clients          []Client        `yaml:"clients"`
	TrustHeaders     bool            `yaml:"trust_headers"` // X-Heldcall-User, -Agent and -Tenant are believed
	Keepalive        time.Duration   `yaml:"keepalive"`     // between heartbeats of a held answer
	Heartbeat        string          `yaml:"heartbeat" oneof:"auto comment event off"`
	MaxBody          strictyaml.Size `yaml:"max_body"` // of a request or a whole answer
	Memory           strictyaml.Size `yaml:"memory"`   // that everything reserves together; 0: half of what there is
	MaxContinuations int             `yaml:"max_continuations"`
	MaxDenials       int             `yaml:"max_denials"` // 0: any number
	Routes           RoutesConfig    `yaml:"routes"`
	Hosts            []string        `yaml:"hosts"`   // names under which Listen is reached besides localhost
	Origins          []string        `yaml:"origins"` // of web pages that may use the proxy
	UpstreamsNamed   bool            `yaml:"-"`       // the operator named Upstreams
	Agent            string          `yaml:"-"`       // name, in requests, of the agent without a key in Clients; set where other agents can be attached
}

// Upstream is one model API.
type Upstream struct {
	Prefix string `yaml:"prefix"`  // path that agents use, such as /v1
	URL    string `yaml:"url"`     // of the model API; no trailing slash
	APIKey Secret `yaml:"api_key"` // empty: the agent's own key passes on
	// KeyHeader is the header that carries the key. auto: x-api-key at Anthropic,
	// api-key at Azure, else as the agent names it, else authorization.
	KeyHeader string `yaml:"key_header" oneof:"auto authorization x-api-key api-key"`
	Proxy     Secret `yaml:"proxy"` // URL of the proxy to URL, or none; empty: that of the environment
	CA        string `yaml:"ca"`    // PEM file of authorities beside the system's, also for an https proxy
	Cert      string `yaml:"cert"`  // PEM file of a client certificate
	Key       string `yaml:"key"`   // PEM file of its key
	// ChatGPT is the address for requests with a login for ChatGPT in place of a key; no trailing slash. Empty: they are refused.
	ChatGPT string `yaml:"chatgpt_url"`
	// StandIn is the key of the agents that use APIKey; the keys of others pass on. Empty: all use it. See
	// [Config.StandIns].
	StandIn string `yaml:"-"`
}

// Client is one agent that is known by its API key. Exactly one of Key and
// KeySHA256 is set.
type Client struct {
	Key       Secret   `yaml:"key"`
	KeySHA256 string   `yaml:"key_sha256"` // 64 lower-case hex digits
	Tenant    string   `yaml:"tenant"`
	User      string   `yaml:"user"`
	Agent     string   `yaml:"agent"`
	Policy    string   `yaml:"policy"`    // file of the policy for this client alone; empty: that of all
	Workspace []string `yaml:"workspace"` // folders in which its agent works; empty: those of its policy
	WorkDir   string   `yaml:"workdir"`   // the folder of its agent; empty: policy.workdir
}

// principal is who the client's agent acts for.
func (c Client) principal() approvals.Principal {
	return approvals.Principal{Tenant: cmp.Or(c.Tenant, proxy.DefaultTenant), User: c.User, Agent: c.Agent}
}

// RoutesConfig names the routes that pass without being gated.
type RoutesConfig struct {
	Allow []string `yaml:"allow"` // path patterns; * stays in one segment, ** crosses
}

// HoldConfig is how an answer is held.
type HoldConfig struct {
	Mode      string          `yaml:"mode" oneof:"block park"`
	ParkAfter time.Duration   `yaml:"park_after"` // how long a parked answer waits before it ends
	MaxWait   time.Duration   `yaml:"max_wait"`   // longest hold; 0: as long as policy allows
	OrphanTTL time.Duration   `yaml:"orphan_ttl"` // how long a turn waits for its agent to come back
	MaxStored strictyaml.Size `yaml:"max_stored"` // of the turns that are held
}

// RunsConfig is when runs end.
type RunsConfig struct {
	Idle time.Duration `yaml:"idle"` // silence of an agent after which its run ends
}

// ConsoleConfig is the control plane.
type ConsoleConfig struct {
	Listen    string        `yaml:"listen"`    // host:port; loopback only as long as there are no reviewers
	URL       string        `yaml:"url"`       // how reviewers reach it; empty: from Listen
	Reviewers []Reviewer    `yaml:"reviewers"` // empty: everybody who reaches the console is the reviewer "local"
	Session   time.Duration `yaml:"session"`   // how long a sign-in in a browser lasts
	// SelfApproval lets reviewers approve what an agent asks that acts for
	// themselves. The reviewer "local" always may.
	SelfApproval bool       `yaml:"self_approval"`
	Push         PushConfig `yaml:"push"`
	OIDC         OIDCConfig `yaml:"oidc"`

	// LocalSHA256 is the hash of the token that the reviewer "local" needs, in hex;
	// empty: anybody on loopback is that reviewer. See [Config.AskLocal].
	LocalSHA256 string `yaml:"-"`
	// SessionsFile keeps the sign-ins of browsers over starts; "": a restart ends them.
	SessionsFile string `yaml:"-"`
}

// PushConfig defines the notifications in reviewers' browsers (Web Push).
type PushConfig struct {
	Contact         string `yaml:"contact"`          // e-mail address or https URL, for push services; empty: console.url
	Preview         bool   `yaml:"preview"`          // notifications show arguments too
	PrivateServices bool   `yaml:"private_services"` // push services may be on private addresses, and without TLS
}

// Reviewer is a person or bot that may see requests, and decide them if the role
// allows it.
type Reviewer struct {
	Name        string   `yaml:"name"`
	TokenSHA256 string   `yaml:"token_sha256"` // 64 lower-case hex digits; empty for who signs in by OIDC only
	Role        string   `yaml:"role" oneof:"viewer reviewer admin"`
	Groups      []string `yaml:"groups"`  // that rules name; "*" is all of them
	User        string   `yaml:"user"`    // as agents' principals name the same person; empty: Name
	Slack       string   `yaml:"slack"`   // their user id in Slack, by which they decide there
	Tenants     []string `yaml:"tenants"` // that they see, decide and steer; empty: all
}

// NATSConfig is the durable store: an embedded server, or an external one if URL
// is set. At most one of Creds and NKey is set.
type NATSConfig struct {
	URL      string        `yaml:"url"`                         // of an external server or cluster, comma separated
	Listen   string        `yaml:"listen"`                      // host:port of the embedded server, loopback only; empty: in-process only
	Dir      string        `yaml:"dir"`                         // where the embedded server stores
	Auth     string        `yaml:"auth" oneof:"open reviewers"` // who may connect to the embedded server: anybody, or reviewers with their tokens; empty: reviewers if there are any
	Creds    string        `yaml:"creds"`                       // file with user credentials
	NKey     string        `yaml:"nkey"`                        // file with an nkey seed
	TLS      NATSTLSConfig `yaml:"tls"`
	Replicas int           `yaml:"replicas"` // copies in a cluster; 0: as many as it has servers, at most 3
	DirNamed bool          `yaml:"-"`        // the operator named Dir
}

// natsOpen and natsReviewers are what nats.auth can be.
const (
	natsOpen      = "open"
	natsReviewers = "reviewers"
)

// NATSTLSConfig names the PEM files for the connection to an external server.
type NATSTLSConfig struct {
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// PolicyConfig names the files of the rules.
type PolicyConfig struct {
	File string `yaml:"file"`
	Mode string `yaml:"mode" oneof:"enforce shadow"`
	// FileNamed is true if the operator named the file. One that was not named
	// need not be there.
	FileNamed   bool   `yaml:"-"`
	WorkDir     string `yaml:"workdir"`      // folder from which relative paths of calls count; empty: not known
	SharedFiles bool   `yaml:"shared_files"` // heldcall sees the files of agents at the same paths
	// Protected are files and folders that calls of tools must not write to, with
	// whole paths.
	Protected []string `yaml:"-"`
}

// Absent reports whether there is no policy: a file that was not named need not
// be there.
func (c PolicyConfig) Absent() bool {
	_, err := os.Stat(c.File)
	return errors.Is(err, fs.ErrNotExist) && !c.FileNamed
}

// String names the policy for people.
func (c PolicyConfig) String() string {
	if c.Absent() {
		return "none, so people are asked about every call"
	}
	return c.File
}

// PolicyFiles are the files of all policies, each once.
func (c *Config) PolicyFiles() []string {
	var files []string
	if !c.Policy.Absent() {
		files = append(files, c.Policy.File)
	}
	for _, client := range c.Proxy.Clients {
		if client.Policy != "" && !slices.Contains(files, client.Policy) {
			files = append(files, client.Policy)
		}
	}
	return files
}

// GrantsConfig is what reviewers are given for decisions that are remembered.
type GrantsConfig struct {
	Templates []GrantTemplate `yaml:"templates"`
}

// GrantTemplate is a grant that reviewers apply by its name.
type GrantTemplate struct {
	Name     string        `yaml:"name"`
	Title    string        `yaml:"title"` // what reviewers read; empty: the name
	Action   string        `yaml:"action" oneof:"allow deny"`
	Patterns []string      `yaml:"patterns"`
	Scope    string        `yaml:"scope" oneof:"user session agent tenant"`
	Expires  time.Duration `yaml:"expires"` // after it is granted; 0: when it is revoked
}

// AuditConfig is what the audit log contains, for how long it is kept, and how it is signed.
type AuditConfig struct {
	Retention  time.Duration `yaml:"retention"`
	Results    bool          `yaml:"results"`    // of approved calls, and the words of the model after them
	Checkpoint time.Duration `yaml:"checkpoint"` // between signatures
	Dir        string        `yaml:"dir"`        // of the key and the last checkpoint; empty: nats.dir with .audit at its end
}

// LogConfig is heldcall's own log.
type LogConfig struct {
	Level  string `yaml:"level" oneof:"debug info warn error"`
	Format string `yaml:"format" oneof:"text json"`
}

// TracingConfig is where spans go.
type TracingConfig struct {
	Enabled   bool     `yaml:"enabled"`
	Endpoint  string   `yaml:"endpoint"`  // base URL of an OTLP receiver over HTTP; empty: from the environment
	Headers   []Header `yaml:"headers"`   // of each export
	Arguments bool     `yaml:"arguments"` // spans hold the arguments of calls
}

// Header is an HTTP header with a value that may be secret.
type Header struct {
	Name  string `yaml:"name"`
	Value Secret `yaml:"value"`
}

// chatGPT is the address of OpenAI's API for logins for ChatGPT.
const chatGPT = "https://chatgpt.com/backend-api/codex"

// DefaultConfig is what runs without a file. The upstreams' keys are the
// OPENAI_API_KEY and ANTHROPIC_API_KEY that lookup finds; without one the agent's
// own passes on.
// lookup is [os.LookupEnv] outside tests.
func DefaultConfig(lookup func(string) (string, bool)) Config {
	openAI, _ := lookup("OPENAI_API_KEY")
	anthropic, _ := lookup("ANTHROPIC_API_KEY")
	return Config{
		Proxy: ProxyConfig{
			Listen: "127.0.0.1:4141",
			Upstreams: []Upstream{
				{Prefix: "/v1", URL: "https://api.openai.com/v1", ChatGPT: chatGPT, APIKey: Secret(openAI), KeyHeader: "auto"},
				{Prefix: "/anthropic/v1", URL: "https://api.anthropic.com/v1", APIKey: Secret(anthropic), KeyHeader: "auto"},
				// The same for clients that do not add /v1 to ANTHROPIC_BASE_URL.
				{Prefix: "/anthropic", URL: "https://api.anthropic.com/v1", APIKey: Secret(anthropic), KeyHeader: "auto"},
			},
			Keepalive:        10 * time.Second,
			Heartbeat:        "auto",
			MaxBody:          64 << 20,
			MaxContinuations: 8,
			MaxDenials:       20,
		},
		Hold: HoldConfig{Mode: "block", ParkAfter: 50 * time.Second, OrphanTTL: 15 * time.Minute, MaxStored: 1 << 30},
		Runs: RunsConfig{Idle: runs.DefaultIdle},
		Console: ConsoleConfig{
			Listen: "127.0.0.1:4142", Session: 12 * time.Hour,
			OIDC: OIDCConfig{Scopes: []string{"openid", "email", "profile"}, NameClaim: "email", GroupsClaim: "groups", Role: noRole},
		},
		NATS:   NATSConfig{Listen: "127.0.0.1:4143", Dir: "./data"},
		Policy: PolicyConfig{File: "policy.yaml", Mode: "enforce"},
		Notify: NotifyConfig{Terminal: TerminalConfig{Title: true, OSC9: true, Bell: true}},
		Audit:  AuditConfig{Retention: 90 * 24 * time.Hour, Results: true, Checkpoint: time.Minute},
		Log:    LogConfig{Level: "info", Format: "text"},
	}
}
