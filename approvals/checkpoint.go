package approvals

import "time"

// Checkpoint is what a replica states about the audit log, and signs. How to check one is in
// docs/audit.md.
type Checkpoint struct {
	Replica   string    `json:"replica"`    // id of the key: the first 16 hex digits of its SHA-256
	Time      time.Time `json:"time"`       // UTC
	Seq       uint64    `json:"seq"`        // the last entry that is covered
	Hash      string    `json:"hash"`       // of that entry
	First     uint64    `json:"first"`      // the first entry that is kept; retention has removed those before
	FirstHash string    `json:"first_hash"` // of that entry; "" for entry 1
	Key       string    `json:"key"`        // ed25519 public key, base64
	Signature string    `json:"signature"`  // base64
}

// PolicyVersion identifies the content of a policy file.
type PolicyVersion struct {
	File   string `json:"file"`             // as requests name it
	SHA256 string `json:"sha256,omitempty"` // of its bytes, hex; "": there is no file, so people are asked about every call
}

// ReviewerRights is a configured reviewer, without the token.
type ReviewerRights struct {
	Name     string   `json:"name"`
	Role     string   `json:"role"`
	Groups   []string `json:"groups,omitempty"`
	Tenants  []string `json:"tenants,omitempty"`
	User     string   `json:"user,omitempty"`
	Slack    string   `json:"slack,omitempty"`
	HasToken bool     `json:"has_token"`
}
