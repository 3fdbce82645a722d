package discovery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/heldcall/heldcall/approvals"
)

// question is what one connection asks, in one line of JSON. One field is set.
type question struct {
	About  bool   `json:"about,omitempty"`
	Nonce  string `json:"nonce,omitempty"` // to be answered with proofs
	Attach *Agent `json:"attach,omitempty"`
}

// answer is a line of the answer. One field is set. Only an attached agent gets several.
type answer struct {
	About    *About           `json:"about,omitempty"`
	Proofs   []string         `json:"proofs,omitempty"`
	Attached *Addresses       `json:"attached,omitempty"`
	Event    *approvals.Event `json:"event,omitempty"`
	Report   *Report          `json:"report,omitempty"` // the last line
	Refused  string           `json:"refused,omitempty"`
}

// About is what a run that serves is.
type About struct {
	Version string   `json:"version"`
	Console string   `json:"console"` // URL at which commands reach it on this machine
	Inbox   string   `json:"inbox"`   // URL that people open
	Agents  []string `json:"agents"`  // as their requests name them
}

// Agent is an agent that is to be attached. Its key of a model API is never sent.
type Agent struct {
	Version   string   `json:"version"` // of the heldcall that starts it
	Config    string   `json:"config"`  // digest of its configuration file, "" without one
	Name      string   `json:"name"`    // as its requests name it
	Folder    string   `json:"folder"`
	Policy    string   `json:"policy"`
	Optional  bool     `json:"optional"` // the policy need not be there
	Protected []string `json:"protected"`
	StandIns  []string `json:"stand_ins"` // of the key of each upstream, "" where it has none
}

// Addresses are where an attached agent is served.
type Addresses struct {
	Proxy string `json:"proxy"` // host:port for its model requests
	Inbox string `json:"inbox"`
}

// Report is what came from an agent while it was attached.
type Report struct {
	Requests int `json:"requests"` // of any kind
	Model    int `json:"model"`    // that asked a model
	Offering int `json:"offering"` // of those, with tools
}

// proof shows that who made it knows the SHA-256 of a token, and serves the console at an address.
// It holds for that address alone, so that a program that only passes proofs on gets no token.
func proof(tokenSHA256 []byte, console, nonce string) string {
	mac := hmac.New(sha256.New, tokenSHA256)
	mac.Write([]byte("heldcall serves " + console + " for " + nonce))
	return hex.EncodeToString(mac.Sum(nil))
}
