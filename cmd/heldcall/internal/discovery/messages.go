package discovery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// question is the first line of a connection, in JSON. One field is set.
type question struct {
	About  bool   `json:"about,omitempty"`
	Nonce  string `json:"nonce,omitempty"` // random text that the proofs are for
	Attach *Agent `json:"attach,omitempty"`
}

// answer is a line of the answer. One field is set. Only an attached agent gets several.
type answer struct {
	About    *About     `json:"about,omitempty"`
	Proofs   []string   `json:"proofs,omitempty"`
	Attached *Addresses `json:"attached,omitempty"`
	Notice   *Notice    `json:"notice,omitempty"`
	Report   *Report    `json:"report,omitempty"` // the last line
	Refused  string     `json:"refused,omitempty"`
}

// About describes a run that serves.
type About struct {
	Version string   `json:"version"`
	Console string   `json:"console"` // URL of the console on this machine, for commands
	Inbox   string   `json:"inbox"`   // URL of the console for people
	Agents  []string `json:"agents"`  // their names in requests
	Ports   []Port   `json:"ports"`   // of the agents, for their hooks
}

// Port is where the requests of one agent are served.
type Port struct {
	Folder string `json:"folder"` // in which the agent works
	Proxy  string `json:"proxy"`  // host:port
}

// Agent is an agent that is to be attached. Its key of a model API is never sent.
type Agent struct {
	Version   string   `json:"version"` // of the heldcall that starts it
	Config    string   `json:"config"`  // digest of its configuration file, "" without one
	Name      string   `json:"name"`    // in its requests
	Folder    string   `json:"folder"`
	Policy    string   `json:"policy"`
	Optional  bool     `json:"optional"` // the policy need not be there
	Protected []string `json:"protected"`
	StandIns  []string `json:"stand_ins"` // of the key of each upstream, "" where it has none
	Upstreams []string `json:"upstreams"` // their URLs
}

// Addresses are those of an attached agent.
type Addresses struct {
	Proxy string `json:"proxy"` // host:port for its requests to models
	Inbox string `json:"inbox"`
}

// Notice is an event about a call of an attached agent.
type Notice struct {
	Event approvals.Event `json:"event"`
	Held  Held            `json:"held,omitzero"`
}

// Held is what the terminal shows of a held call, beside its event.
type Held struct {
	Preview   string    `json:"preview"` // of the arguments
	Heading   string    `json:"heading"` // what the call does, see [approvals.Heading]
	ExpiresAt time.Time `json:"expires_at"`
}

// Report is what came from an agent while it was attached.
type Report struct {
	Requests int `json:"requests"` // of any kind
	Model    int `json:"model"`    // to a model
	Offering int `json:"offering"` // to a model, with tools
}

// proof returns the proof that a run knows the SHA-256 of a token and serves the console at an address.
// It is valid for that address only: a program that relays the proofs of a run gets no token.
func proof(tokenSHA256 []byte, console, nonce string) string {
	mac := hmac.New(sha256.New, tokenSHA256)
	mac.Write([]byte("heldcall serves " + console + " for " + nonce))
	return hex.EncodeToString(mac.Sum(nil))
}
