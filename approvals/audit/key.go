package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// keyFile is the private key of a replica in its folder: PKCS #8 in PEM.
const keyFile = "key.pem"

// Key signs the checkpoints of one replica.
type Key struct{ private ed25519.PrivateKey }

// OpenKey reads the key in a folder. It fails with [fs.ErrNotExist] if there is none.
func OpenKey(dir string) (Key, error) {
	file := filepath.Join(dir, keyFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return Key{}, fmt.Errorf("read the key of the audit log: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return Key{}, fmt.Errorf("read the key of the audit log: %s is not PEM", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Key{}, fmt.Errorf("read the key of the audit log: %s: %w", file, err)
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return Key{}, fmt.Errorf("read the key of the audit log: %s is not an ed25519 key", file)
	}
	return Key{private}, nil
}

// CreateKey reads the key in a folder, or creates folder and key, for the owner alone.
func CreateKey(dir string) (Key, error) {
	key, err := OpenKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("create the key of the audit log: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Key{}, fmt.Errorf("create the key of the audit log: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Key{}, fmt.Errorf("create the key of the audit log: %w", err)
	}
	if err := writeFile(filepath.Join(dir, keyFile), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); err != nil {
		return Key{}, fmt.Errorf("create the key of the audit log: %w", err)
	}
	return OpenKey(dir)
}

// writeFile replaces a file at once and durably, readable by its owner alone.
func writeFile(name string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails after the rename
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), name)
}

// Public returns the public key in base64.
func (k Key) Public() string {
	return base64.StdEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
}

// Sign completes a checkpoint with time, key and signature.
func (k Key) Sign(c approvals.Checkpoint, now time.Time) approvals.Checkpoint {
	c.Time, c.Key = now.UTC(), k.Public()
	c.Replica = replicaOf(c.Key)
	c.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, statement(&c)))
	return c
}

// replicaOf returns the id of a replica by its public key.
func replicaOf(key string) string {
	raw, _ := base64.StdEncoding.DecodeString(key)
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// statement returns the text that is signed. Its form is documented: do not change it.
func statement(c *approvals.Checkpoint) []byte {
	return fmt.Appendf(nil, "heldcall checkpoint v1\n%s\n%s\n%d %s\n%d %s\n",
		c.Replica, c.Time.Format(time.RFC3339Nano), c.Seq, c.Hash, c.First, c.FirstHash)
}

// CheckSignature returns an error unless a checkpoint is signed by the key that it names.
func CheckSignature(c *approvals.Checkpoint) error {
	key, err := base64.StdEncoding.DecodeString(c.Key)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return errors.New("its key is not an ed25519 key in base64")
	}
	if c.Replica != replicaOf(c.Key) {
		return fmt.Errorf("its replica is %q, and that of its key is %s", c.Replica, replicaOf(c.Key))
	}
	signature, err := base64.StdEncoding.DecodeString(c.Signature)
	if err != nil || !ed25519.Verify(key, statement(c), signature) {
		return errors.New("its signature is not of its key")
	}
	return nil
}
