package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"github.com/heldcall/heldcall/internal/privatefile"
)

// keys are the identities of a key file. The first encrypts, all decrypt. A nil *keys
// decrypts nothing.
type keys struct {
	file       string
	identities []age.Identity
	recipient  age.Recipient
}

// openKeys reads a key file, as age-keygen writes it. It fails with [fs.ErrNotExist] if
// there is none.
func openKeys(file string) (*keys, error) {
	text, err := privatefile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read secrets.key_file: %w", err)
	}
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read secrets.key_file %s: it is not a key file of age: %w", file, err)
	}
	k := &keys{file: file, identities: identities}
	switch first := identities[0].(type) {
	case *age.X25519Identity:
		k.recipient = first.Recipient()
	case *age.HybridIdentity:
		k.recipient = first.Recipient()
	default:
		return nil, fmt.Errorf("read secrets.key_file %s: its first key is of a kind that heldcall does not use; make one with age-keygen", file)
	}
	return k, nil
}

// Another replica may be writing a key file for this number of looks, with pauses between them.
const keyLooks, keyPause = 20, 50 * time.Millisecond

// awaitKeys reads a key file that another replica may be writing.
func awaitKeys(file string) (k *keys, err error) {
	for range keyLooks {
		if k, err = openKeys(file); err == nil {
			return k, nil
		}
		time.Sleep(keyPause)
	}
	return nil, err
}

// createKeys reads a key file, or makes one that only its owner can read.
func createKeys(file string) (*keys, error) {
	k, err := openKeys(file)
	switch {
	case err == nil:
		return k, nil
	case !errors.Is(err, fs.ErrNotExist):
		return awaitKeys(file)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("make a key for secrets: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make secrets.key_file: %w", err)
	}
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return awaitKeys(file)
	}
	if err != nil {
		return nil, fmt.Errorf("make secrets.key_file: %w", err)
	}
	_, err = fmt.Fprintf(to, "# heldcall encrypts the secrets of agents with this key. Anybody who has it can read them.\n%s\n", identity)
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		return nil, fmt.Errorf("make secrets.key_file: %w", err)
	}
	return openKeys(file)
}

// seal encrypts a text.
func (k *keys) seal(text []byte) ([]byte, error) {
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, k.recipient)
	if err != nil {
		return nil, fmt.Errorf("encrypt a secret: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("encrypt a secret: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encrypt a secret: %w", err)
	}
	return sealed.Bytes(), nil
}

// errOtherKey is the error for a record that none of the keys decrypts.
var errOtherKey = errors.New("secrets.key_file does not have the key with which the stored secrets are encrypted: copy the file of the replica that has stored them, or restore it from your backup")

// open decrypts a text. Old reports that it is not encrypted with the first key.
func (k *keys) open(sealed []byte) (text []byte, old bool, err error) {
	if k == nil {
		return nil, false, errOtherKey
	}
	for i, identity := range k.identities {
		r, err := age.Decrypt(bytes.NewReader(sealed), identity)
		if errors.As(err, new(*age.NoIdentityMatchError)) {
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("decrypt a secret: %w", err)
		}
		if text, err = io.ReadAll(r); err != nil {
			return nil, false, fmt.Errorf("decrypt a secret: %w", err)
		}
		return text, i > 0, nil
	}
	return nil, false, errOtherKey
}
