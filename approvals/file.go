package approvals

// FileSource is how heldcall knows a file.
type FileSource string

// The sources of facts about a file.
const (
	FromWorkspace FileSource = "workspace" // heldcall sees the files of the agent
	FromResult    FileSource = "result"    // an earlier result in the conversation shows the text, as the agent has reported it
)

// MaxFileText is the most bytes of the text of a [File].
const MaxFileText = 16 << 10

// File has the facts about a file that a call writes, as the file was when people were asked.
type File struct {
	Path   string     `json:"path"` // as the call has it
	Exists bool       `json:"exists"`
	Source FileSource `json:"source"`
	// Lines has the first line of each edit of the call in the file, in their order; 0: not known. An edit is one
	// replacement, or one hunk of a patch.
	Lines []int `json:"lines,omitempty"`
	// Text is the whole text that the call overwrites, at most [MaxFileText] bytes. It is "" for edits, for a longer text,
	// and for files whose names are hidden or are those of secrets.
	Text string `json:"text,omitempty"`
}
