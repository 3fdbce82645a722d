package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// newTLS returns how an upstream's server, and an https proxy before it, are authenticated: by the system's authorities and
// those of the configuration.
func (c *Config) newTLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		pool, err := LoadAuthorities(c.CA)
		if err != nil {
			return nil, fmt.Errorf("ca %w", err)
		}
		config.RootCAs = pool
	}
	return config, nil
}

// LoadAuthorities returns the system's authorities and those of a PEM file.
func LoadAuthorities(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w; create the file or name another", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("cannot be added to the system's authorities: %w", err)
	}
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s has no certificate in PEM form; write one or more blocks that begin with -----BEGIN CERTIFICATE-----", file)
	}
	return pool, nil
}

// LoadCertificate returns the client certificate of two PEM files.
func LoadCertificate(cert, key string) (*tls.Certificate, error) {
	if cert == "" || key == "" {
		return nil, errors.New("cert and key belong together; give both")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the client certificate of cert %s and key %s cannot be used: %w; give the PEM files of one certificate and its key, which is not encrypted", cert, key, err)
	}
	return &pair, nil
}

// secured returns the TLS configuration of one connection to the upstream, and whether its server then asks for a client
// certificate that there is not.
func (u *Client) secured() (config *tls.Config, asked *bool) {
	asked = new(bool)
	if len(u.tls.Certificates) > 0 {
		return u.tls, asked
	}
	config = u.tls.Clone()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		*asked = true
		return new(tls.Certificate), nil
	}
	return config, asked
}
