// Package cassettes reads recordings of model APIs, in the formats other
// projects keep them in, and turns each into the response that was on the wire.
//
// The format follows from a file's name, and for YAML from its first keys:
//
//	.chunks.txt           one JSON chunk a line, the framing removed
//	.sse .sse.txt .sse.json .txt   the body of an event stream
//	.json                 the body of a whole answer, or an array of chunks
//	.httprr               Go httprr trace: raw HTTP requests and responses
//	.sessionrecord.json   session record of the Azure test proxy
//	.yaml                 cassettes of VCR.py, go-vcr, httpmock and Ruby VCR
//
// The dialect follows from how the file's name begins: chat-, responses-,
// messages- or complete-.
package cassettes

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// Dialect is the wire API an exchange speaks.
type Dialect string

// The dialects. Complete is the legacy text completion, which carries no calls.
const (
	Chat      Dialect = "chat"
	Responses Dialect = "responses"
	Messages  Dialect = "messages"
	Complete  Dialect = "complete"
)

// Exchange is one recorded response, with its request where that was recorded.
type Exchange struct {
	File     string // slash-separated path below the root
	Index    int    // number of the response in its file, from 0
	Variant  string // "unsplit" if several recorded responses are in one body, else ""
	Dialect  Dialect
	Streamed bool // the body is an event stream
	Status   int
	Header   http.Header // as recorded, as far as it was
	Body     []byte      // without transfer and content coding
	// Encoded is the body as it was on the wire where that had a content
	// coding, which Header still names; nil otherwise.
	Encoded []byte
	// Method, URL and RequestBody are of the request, empty where the recording
	// has none. The URL may be its path only.
	Method      string
	URL         string
	RequestBody []byte
}

// Name identifies the exchange among all of one root.
func (e Exchange) Name() string {
	name := fmt.Sprintf("%s#%d", e.File, e.Index)
	if e.Variant != "" {
		name += "-" + e.Variant
	}
	return name
}

// Load reads every recording below root, in lexical order. Markdown files are
// no recordings; any other file that it cannot read is an error.
func Load(root fs.FS) ([]Exchange, error) {
	var all []Exchange
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) == ".md" {
			return err
		}
		raw, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		exchanges, err := Read(name, raw)
		if err != nil {
			return err
		}
		all = append(all, exchanges...)
		return nil
	})
	return all, err
}

// Read turns one file into its exchanges.
func Read(name string, raw []byte) ([]Exchange, error) {
	dialect, _, _ := strings.Cut(path.Base(name), "-")
	switch Dialect(dialect) {
	case Chat, Responses, Messages, Complete:
	default:
		return nil, fmt.Errorf("reading %s: the name does not begin with a dialect", name)
	}
	exchanges, err := readFormat(name, Dialect(dialect), raw)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(exchanges) == 0 {
		return nil, fmt.Errorf("reading %s: it holds no response", name)
	}
	for i := range exchanges {
		e := &exchanges[i]
		e.File, e.Index, e.Dialect = name, i, Dialect(dialect)
		if err := e.complete(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", e.Name(), err)
		}
	}
	return exchanges, nil
}

func readFormat(name string, dialect Dialect, raw []byte) ([]Exchange, error) {
	has := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	switch {
	case has(".chunks.txt"):
		return readChunks(dialect, raw), nil
	case has(".sessionrecord.json"):
		return readSessionRecord(raw)
	case has(".sse.json"), has(".sse"), has(".txt"):
		return []Exchange{{Body: raw}}, nil
	case has(".json"):
		return readJSON(raw)
	case has(".httprr"):
		return readTrace(raw)
	case has(".yaml"):
		return readCassette(raw)
	}
	return nil, fmt.Errorf("no format is known by that name")
}

// complete fills in what follows from the body.
func (e *Exchange) complete() error {
	if e.Status == 0 {
		e.Status = http.StatusOK
	}
	if e.Header == nil {
		e.Header = make(http.Header)
	}
	if bytes.HasPrefix(e.Body, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(bytes.NewReader(e.Body))
		if err != nil {
			return fmt.Errorf("decompressing the body: %w", err)
		}
		e.Encoded = e.Body
		if e.Body, err = io.ReadAll(plain); err != nil {
			return fmt.Errorf("decompressing the body: %w", err)
		}
	} else {
		// The recorder decoded it without telling the header.
		e.Header.Del("Content-Encoding")
	}
	begin := bytes.TrimLeft(e.Body, " \t\r\n")
	e.Streamed = len(begin) > 0 && begin[0] != '{' && begin[0] != '['
	if e.Header.Get("Content-Type") == "" {
		e.Header.Set("Content-Type", "application/json")
		if e.Streamed {
			e.Header.Set("Content-Type", "text/event-stream; charset=utf-8")
		}
	}
	return nil
}
