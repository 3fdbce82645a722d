package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"time"
)

// built is the time of all files in packages: none of them holds anything of the
// machine it was made on. A zip has no earlier time.
var built = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// file is one in an archive.
type file struct {
	name    string
	mode    os.FileMode
	content []byte
}

// besides are the files that an archive holds beside the program.
var besides = []string{"LICENSE", "README.md", "CHANGELOG.md"}

// archive is the program with the files beside it, in a folder: a zip for Windows, whose
// Explorer opens no other, a tar.gz elsewhere.
func (p *program) archive() (map[string][]byte, error) {
	files := []file{{p.released() + "/" + executable(p.platform), 0o755, p.content}}
	for _, name := range besides {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{p.released() + "/" + name, 0o644, content})
	}
	pack := tarball
	if p.goos == "windows" {
		pack = zipped
	}
	content, err := pack(files)
	return map[string][]byte{archiveName(p.version, p.platform): content}, err
}

// archiveName is the file name of a platform's archive.
func archiveName(version string, on platform) string {
	if on.goos == "windows" {
		return nameOf(version, on) + ".zip"
	}
	return nameOf(version, on) + ".tar.gz"
}

// tarball is a tar.gz of files.
func tarball(files []file) ([]byte, error) {
	var out bytes.Buffer
	zipper := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipper)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), Typeflag: tar.TypeReg, ModTime: built, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), zipper.Close())
	return out.Bytes(), err
}

// zipped is a zip of files.
func zipped(files []file) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: built}
		header.SetMode(f.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}
