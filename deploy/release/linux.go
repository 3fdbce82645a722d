package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

//go:embed packages/installed.sh
var installedScript []byte

//go:embed packages/removing.sh
var removingScript []byte

// linuxPackages are the packages for dpkg and rpm: the program, the service with its
// configuration, which is kept over upgrades, and the license.
func (p *program) linuxPackages() (map[string][]byte, error) {
	if p.goos != "linux" {
		return nil, nil
	}
	packages := make(map[string][]byte)
	for _, format := range []string{"deb", "rpm"} {
		content, err := p.linuxPackage(format)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", format, err)
		}
		packages[p.released()+"."+format] = content
	}
	return packages, nil
}

func (p *program) linuxPackage(format string) ([]byte, error) {
	folder := filepath.Dir(p.path)
	scripts := nfpm.Scripts{PostInstall: filepath.Join(folder, "installed.sh"), PreRemove: filepath.Join(folder, "removing.sh")}
	for name, content := range map[string][]byte{scripts.PostInstall: installedScript, scripts.PreRemove: removingScript} {
		if err := os.WriteFile(name, content, 0o755); err != nil {
			return nil, err
		}
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "heldcall", Platform: p.goos, Arch: p.goarch, Version: strings.TrimPrefix(p.version, "v"),
		Section: "net", Maintainer: "heldcall <" + homepage + "/issues>", Vendor: "heldcall",
		Description: summary, Homepage: homepage, License: license, MTime: built,
		Overridables: nfpm.Overridables{
			Scripts: scripts,
			RPM:     nfpm.RPM{BuildHost: "heldcall", Compression: "gzip", Group: "System Environment/Daemons", Summary: summary},
			Deb:     nfpm.Deb{Compression: "gzip"},
			Contents: files.Contents{
				content(p.path, "/usr/bin/heldcall", "", 0o755),
				content("deploy/systemd/heldcall.service", "/usr/lib/systemd/system/heldcall.service", "", 0o644),
				content("deploy/systemd/heldcall.socket", "/usr/lib/systemd/system/heldcall.socket", "", 0o644),
				content("deploy/systemd/heldcall.yaml", "/etc/heldcall/heldcall.yaml", files.TypeConfigNoReplace, 0o644),
				content("deploy/systemd/environment", "/etc/heldcall/environment", files.TypeConfigNoReplace, 0o600),
				content("LICENSE", "/usr/share/doc/heldcall/copyright", "", 0o644),
			},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return nil, err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = packager.Package(info, &out)
	return out.Bytes(), err
}

// content is a file of a package, of root.
func content(from, to, kind string, mode os.FileMode) *files.Content {
	return &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: built}}
}
