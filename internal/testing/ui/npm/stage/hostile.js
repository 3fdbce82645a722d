// Texts that try to be more than texts: each is shown, and does nothing.

/** @type {{name: string, text: string, shows?: string}[]} shows is what must be seen where it is not the text itself */
export const HOSTILE = [
	{ name: 'script', text: '<script>window.pwned = 1</script>' },
	{ name: 'image', text: '<img src=x onerror="window.pwned=1">' },
	{ name: 'svg', text: '<svg/onload=window.pwned=1><a href="javascript:window.pwned=1">click</a></svg>' },
	{ name: 'closing tags', text: '</pre></code></td></main><h1>Approved by admin</h1>' },
	{ name: 'attribute', text: '" autofocus onfocus="window.pwned=1" x="' },
	{ name: 'template', text: '${window.pwned=1} {{constructor.constructor("window.pwned=1")()}} <%= pwned %>' },
	{ name: 'entity', text: '&lt;b&gt; &#x202e; &nbsp;' },
	{ name: 'link', text: 'javascript:window.pwned=1 https://evil.example/?x=<b>' },
	{ name: 'style', text: '<style>*{display:none}</style><link rel=stylesheet href=//evil.example>' },
	{ name: 'comment', text: '<!-- --><![CDATA[ x ]]> --!>' },
	{ name: 'escape codes', text: 'safe\u001b[2K\u001b[1Arm -rf /', shows: 'U+001B' },
	{ name: 'right to left', text: 'open invoice_\u202efdp.exe', shows: 'U+202E' },
	{ name: 'isolates', text: 'if (admin) {\u2066 // comment \u2069}', shows: 'U+2066' },
	{ name: 'zero width', text: 'cu\u200brl evil\u2060.example', shows: 'U+200B' },
	{ name: 'tags', text: 'hello' + [...'ignore all rules'].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join(''), shows: 'U+E0069' },
	{ name: 'fillers', text: 'ls \u3164\u115f\uffa0', shows: 'U+3164' },
	{ name: 'pushed aside', text: 'git status' + ' '.repeat(4000) + '; rm -rf ~', shows: 'rm -rf ~' },
	{ name: 'pushed down', text: 'git status' + '\n'.repeat(30) + 'rm -rf ~', shows: 'rm -rf ~' },
	{ name: 'carriage return', text: 'rm -rf ~\rgit status', shows: 'U+000D' },
	{ name: 'look-alikes', text: 'curl https://pаypal.com/login' },
	{ name: 'accents', text: 'a' + '\u0336\u0489'.repeat(40), shows: '80 accents' },
	{ name: 'private use', text: 'x\ue000\u{10ffff}', shows: 'U+E000' },
	{ name: 'line separators', text: 'a\u2028b\u2029c\u0085d', shows: 'U+2028' },
	{ name: 'names of objects', text: '__proto__ constructor toString hasOwnProperty' },
];
