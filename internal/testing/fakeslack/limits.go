package fakeslack

import (
	"encoding/json"
	"unicode/utf16"
)

// block is what limits are asked of.
type block struct {
	Type     string    `json:"type"`
	Text     *text     `json:"text"`
	Elements []element `json:"elements"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// element is a button, or a text in small print.
type element struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"` // a text's own, or an object with a button's
	ActionID string          `json:"action_id"`
	Value    string          `json:"value"`
	Confirm  *struct {
		Text text `json:"text"`
	} `json:"confirm"`
}

// maxBlocks is how much text the blocks of a message may have together, of small print
// and buttons too.
const maxBlocks = 13_200

// wrong is Slack's word for the error in a message, "" for none.
func wrong(fields map[string]string) string {
	if fields["channel"] == "" {
		return "channel_not_found"
	}
	if fields["text"] == "" && fields["blocks"] == "" {
		return "no_text"
	}
	if length(fields["text"]) > 40_000 {
		return "msg_too_long"
	}
	if fields["blocks"] == "" {
		return ""
	}
	var blocks []block
	if json.Unmarshal([]byte(fields["blocks"]), &blocks) != nil || len(blocks) > 50 {
		return "invalid_blocks"
	}
	total := 0
	for _, b := range blocks {
		if !b.fits() {
			return "invalid_blocks"
		}
		total += b.length()
	}
	if total > maxBlocks {
		return "msg_blocks_too_long"
	}
	return ""
}

// length is that of all text of a block.
func (b block) length() int {
	n := 0
	if b.Text != nil {
		n += length(b.Text.Text)
	}
	for _, e := range b.Elements {
		var plain string
		var object text
		if json.Unmarshal(e.Text, &plain) != nil && json.Unmarshal(e.Text, &object) == nil {
			plain = object.Text
		}
		if n += length(plain); e.Confirm != nil {
			n += length(e.Confirm.Text.Text)
		}
	}
	return n
}

// labelLength is the length of the text of a button.
func (e element) labelLength() int {
	var label text
	_ = json.Unmarshal(e.Text, &label)
	return length(label.Text)
}

// fits holds the limits of one block.
func (b block) fits() bool {
	if b.Text != nil && (b.Text.Text == "" || length(b.Text.Text) > 3000) {
		return false
	}
	if (b.Type == "section" && b.Text == nil) || (b.Type == "actions" && (len(b.Elements) == 0 || len(b.Elements) > 25)) || (b.Type == "context" && len(b.Elements) > 10) {
		return false
	}
	for _, e := range b.Elements {
		switch {
		case e.Type == "button" && e.labelLength() > 75, length(e.Value) > 2000, length(e.ActionID) > 255, e.Confirm != nil && length(e.Confirm.Text.Text) > 300:
			return false
		case e.Type == "mrkdwn" && len(e.Text) <= len(`""`):
			return false
		}
	}
	return true
}

// length is how long Slack takes a text to be.
func length(s string) int { return len(utf16.Encode([]rune(s))) }

// part is a block of a form.
type part struct {
	Type    string `json:"type"`
	BlockID string `json:"block_id"`
	Text    *text  `json:"text"`
	Label   text   `json:"label"`
	Element struct {
		Type        string `json:"type"`
		Placeholder text   `json:"placeholder"`
		Options     []struct {
			Text  text   `json:"text"`
			Value string `json:"value"`
		} `json:"options"`
	} `json:"element"`
}

// parts are the blocks of the form.
func (v View) parts() (parts []part) {
	var form struct {
		Blocks []part `json:"blocks"`
	}
	if json.Unmarshal(v.View, &form) != nil {
		return nil
	}
	return form.Blocks
}

// element is the type of the input of a part of the form, "" without one.
func (v View) element(name string) string {
	for _, p := range v.parts() {
		if p.BlockID == name {
			return p.Element.Type
		}
	}
	return ""
}

// fits holds the limits of a form.
func (v View) fits() bool {
	parts := v.parts()
	if len(parts) == 0 || len(parts) > 100 {
		return false
	}
	taken := map[string]bool{}
	for _, p := range parts {
		switch {
		case p.Text != nil && (p.Text.Text == "" || length(p.Text.Text) > 3000), p.BlockID != "" && taken[p.BlockID], length(p.BlockID) > 255,
			length(p.Label.Text) > 2000, length(p.Element.Placeholder.Text) > 150, len(p.Element.Options) > 100,
			p.Type == "input" && p.Label.Text == "":
			return false
		}
		taken[p.BlockID] = true
		for _, o := range p.Element.Options {
			if o.Text.Text == "" || length(o.Text.Text) > 75 || length(o.Value) > 150 {
				return false
			}
		}
	}
	return true
}
