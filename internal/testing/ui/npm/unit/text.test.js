import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { amountText } from '../inbox/text/amount.js';
import { colours } from '../inbox/text/colour.js';
import { diffLines, numbered, tally } from '../inbox/text/diff.js';
import { patchFiles } from '../inbox/text/files.js';
import { fold, foldItems } from '../inbox/text/fold.js';
import { parse, show, write } from '../inbox/text/json.js';
import { isPatch, patchLines } from '../inbox/text/patch.js';
import { tokens } from '../inbox/text/shell.js';
import { countHidden, pieces, plain } from '../inbox/text/visible.js';
import { HOSTILE } from '../stage/hostile.js';

const joined = (parts) => parts.map((part) => part.text).join('');

describe('amounts', () => {
	for (const [amount, currency, want] of [
		[1250, 'EUR', '1,250.00 EUR'], ['1250.5', 'EUR', '1,250.50 EUR'], [-3, 'USD', '-3.00 USD'], [1250, 'JPY', '1,250 JPY'], [1, 'KWD', '1.000 KWD'],
		['0.125', 'EUR', '0.125 EUR'], ['123456789012345678.01', 'EUR', '123,456,789,012,345,678.01 EUR'],
		[1250, 'eur', ''], [1250, 'ABC', ''], [1250, undefined, ''], ['1,250', 'EUR', ''], ['1e3', 'EUR', ''], [1e21, 'EUR', ''], ['', 'EUR', ''], [null, 'EUR', ''], [{}, 'EUR', ''],
	]) test(`${JSON.stringify(amount)} ${currency}`, () => assert.equal(amountText(amount, currency), want));
});

describe('visible characters', () => {
	const cases = [
		['plain words, 3.14 and\ttabs\nand lines', []],
		['été, Ünïcödé, Ελλάδα, Привет, 日本語, עברית', []],
		['👍🏽 👨‍👩‍👧 ❤️ 🏳️‍🌈', []],
		['rm\u00a0-rf', ['U+00A0']],
		['a\u200bb', ['U+200B']],
		['a\u2060b\ufeff', ['U+2060', 'U+FEFF']],
		['x\u202egnp.exe', ['U+202E']],
		['\u001b[31mred', ['U+001B']],
		['a\rb', ['U+000D']],
		['ls\u3164', ['U+3164']],
		['a\u{e0041}b', ['U+E0041']],
		['v\ufe0fx', ['U+FE0F']],
		['x\u034fy', ['U+034F']],
		['\ud800', ['U+D800']],
		['a' + ' '.repeat(200) + 'b', ['200 spaces']],
		['a' + '\u0301'.repeat(9), ['9 accents']],
		['pаypal.com', ['pаypal']], // the second letter is Cyrillic
	];
	for (const [text, labels] of cases) {
		test(JSON.stringify(text).slice(0, 50), () => {
			const found = pieces(text);
			assert.equal(joined(found), text, 'nothing is lost');
			assert.deepEqual(found.filter((piece) => piece.kind).map((piece) => piece.label), labels);
			assert.equal(countHidden(text), labels.length);
		});
	}
	test('a text for a title has codes in place of what is not seen', () => {
		assert.equal(plain('a\u202eb\nc'), 'a⟨U+202E⟩b c');
	});
	test('no hostile text is lost', () => {
		for (const { text } of HOSTILE) assert.equal(joined(pieces(text)), text);
	});
});

describe('folding', () => {
	const limits = { lines: 16, characters: 400 };
	test('what fits is whole', () => assert.deepEqual(fold('a\nb', limits), { head: 'a\nb', rest: '', lines: 0, characters: 0 }));
	test('two lines more are no reason to fold', () => assert.equal(fold('x\n'.repeat(17) + 'x', limits).rest, ''));
	test('lines that are left out are counted', () => {
		const { head, rest, lines } = fold(Array.from({ length: 100 }, (_, i) => `${i}`).join('\n'), limits);
		assert.equal(head.split('\n').length, 16);
		assert.equal(lines, 84);
		assert.equal(head.split('\n').length + lines, 100);
		assert.equal((head + rest).length, 290 - 1);
	});
	test('one long line is folded too, and no character parted', () => {
		const text = '😀'.repeat(1000);
		const { head, rest, characters } = fold(text, { lines: 16, characters: 401 });
		assert.equal(head + rest, text);
		assert.equal(characters, rest.length);
		assert.equal(countHidden(head) + countHidden(rest), 0);
	});
	test('empty lines hide nothing', () => assert.ok(fold('a' + '\n'.repeat(500) + 'b', limits).rest.endsWith('b')));
	test('items', () => assert.deepEqual([foldItems(40, 40), foldItems(45, 40), foldItems(46, 40)], [40, 45, 40]));
});

describe('differences', () => {
	const signs = (before, after) => diffLines(before, after).map((line) => line.sign + line.text);
	test('kept, taken out, put in', () => assert.deepEqual(signs('a\nb\nc', 'a\nx\nc\nd'), [' a', '-b', '+x', ' c', '+d']));
	test('from nothing', () => assert.deepEqual(signs('', 'a\nb'), ['+a', '+b']));
	test('to nothing', () => assert.deepEqual(signs('a\nb', ''), ['-a', '-b']));
	test('no change', () => assert.deepEqual(signs('a\nb', 'a\nb'), [' a', ' b']));
	test('the end of the last line', () => assert.deepEqual(signs('a', 'a\n'), [' a', '+']));
	test('both sides can be read back', () => {
		const words = ['a', 'b', 'c', ''];
		let seed = 7;
		const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
		for (let round = 0; round < 300; round++) {
			const [before, after] = [0, 0].map(() => Array.from({ length: 1 + random(8) }, () => words[random(words.length)]).join('\n'));
			const lines = diffLines(before, after);
			const side = (other) => lines.filter((line) => line.sign !== other).map((line) => line.text).join('\n');
			if (before !== '') assert.equal(side('+'), before);
			if (after !== '') assert.equal(side('-'), after);
		}
	});
	test('what differs in a line is marked', () => {
		const [out, put] = diffLines('total += price', 'total += price * count');
		assert.deepEqual([out.text.slice(...out.changed), put.text.slice(...put.changed)], ['', ' * count']);
	});
	test('very long texts end in time', () => {
		const lines = diffLines(Array.from({ length: 9000 }, (_, i) => `a${i}`).join('\n'), Array.from({ length: 9000 }, (_, i) => `b${i}`).join('\n'));
		assert.equal(lines.length, 18000);
	});
});

describe('patches', () => {
	test('apply_patch', () => {
		const patch = '*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n z\nodd\n*** End Patch';
		assert.ok(isPatch(patch));
		assert.deepEqual(patchLines(patch).map((line) => line.sign), ['@', '@', '@', '-', '+', ' ', ' ', '@']);
	});
	test('numbers of lines, and how many', () => {
		const lines = numbered(patchLines('--- a/x\n+++ b/x\n@@ -7,2 +9,3 @@\n k\n-a\n+b\n+c\n@@ func\n-d\n'));
		assert.deepEqual(lines.map(({ n }) => n ?? 0), [0, 0, 0, 9, 8, 10, 11, 0, 0]);
		assert.deepEqual(tally(lines), { added: 2, removed: 2 });
	});
	test('unified', () => assert.ok(isPatch('--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n')));
	test('search and replace, and a block without an end', () => {
		const patch = '<<<<<<< SEARCH\na\nb\n=======\na\nc\n>>>>>>> REPLACE\n<<<<<<< SEARCH\nlast';
		assert.deepEqual(patchLines(patch).map((line) => line.sign + line.text), ['@<<<<<<< SEARCH', ' a', '-b', '+c', '@<<<<<<< SEARCH', '-last']);
	});
	test('files of unified diffs', () => {
		const files = patchFiles('diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -7,2 +9,2 @@ f\n k\n-a\n+b\n\\ No newline at end of file\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+c\n');
		assert.deepEqual(files.map(({ path, status, hunks }) => [path, status, hunks.map((hunk) => hunk.map(({ sign, text }) => sign + text))]), [
			['x', '', [['@@@ -7,2 +9,2 @@ f', ' k', '-a', '+b', '@\\ No newline at end of file']]], ['y', 'new file', [['@@@ -0,0 +1 @@', '+c']]]]);
	});
	for (const [name, patch] of Object.entries({
		'a line that is in no file': '*** Begin Patch\nrm -rf\n*** Update File: a\n@@\n-x\n*** End Patch',
		'a line after the end': '*** Begin Patch\n*** Delete File: a\n*** End Patch\nrm -rf',
		'a line of a deleted file': '*** Begin Patch\n*** Delete File: a\n+x\n*** End Patch',
		'no end': '*** Begin Patch\n*** Delete File: a',
		'another end of lines': '*** Begin Patch\r\n*** Delete File: a\r\n*** End Patch\r\n',
		'text after a hunk': '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nrm -rf',
		'text before a diff': 'rm -rf\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b',
		'a hunk that is cut': '--- a/x\n+++ b/x\n@@ -1,3 +1 @@\n-a\n+b',
		'search and replace': '<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE',
	})) test(`is shown as it is: ${name}`, () => assert.equal(patchFiles(patch), null));
	test('prose is none', () => assert.equal(isPatch('- one\n+ two\n@@ home'), false));
});

describe('shell colours', () => {
	const commands = (script) => tokens(script).filter((token) => token.kind === 'command').map((token) => token.text);
	const cases = [
		['git push && rm -rf x | tee y; ls', ['git', 'rm', 'tee', 'ls']],
		['A=1 sudo env B=2 rm x', ['sudo', 'env', 'rm']],
		['echo $(whoami) `id`', ['echo', 'whoami', 'id']],
		['if true; then rm x; fi', ['if', 'true', 'then', 'rm']],
		['echo "a; rm b" \'; rm c\'', ['echo']],
		['# rm x\nls', ['ls']],
	];
	for (const [script, want] of cases) test(script, () => assert.deepEqual(commands(script), want));
	test('no hostile text is lost', () => {
		for (const { text } of HOSTILE) assert.equal(joined(tokens(text)), text);
	});
});

describe('colours', () => {
	const styled = (text, language) => colours(text, language).map(({ from, to, style }) => `${style}: ${text.slice(from, to)}`);
	test('SQL', () => assert.deepEqual(styled("DELETE FROM t WHERE a = 'select' -- x", 'sql'), ['tok-operator: DELETE', 'tok-command: FROM', 'tok-command: WHERE', "tok-string: 'select'", 'tok-comment: -- x']));
	test('a request line', () => assert.deepEqual(styled('POST https://api.example/x', 'http'), ['tok-command: POST', 'tok-option: api.example']));
	test('code', () => assert.deepEqual(styled('return "a // b" // c', 'slash'), ['tok-command: return', 'tok-string: "a // b"', 'tok-comment: // c']));
	test('code whose comments begin with #', () => assert.deepEqual(styled("if x: # y", 'hash'), ['tok-command: if', 'tok-comment: # y']));
	test('a long text has none', () => assert.deepEqual(colours('if '.repeat(10_000), 'slash'), []));
});

describe('JSON that loses nothing', () => {
	for (const text of ['{"n":12345678901234567890,"m":1.10,"e":1e3,"s":"1.10","a":[0.1,-0]}', '{"__proto__":{"x":1},"":null}']) {
		test(text, () => assert.equal(write(parse(text)), text));
	}
	test('a number in a table has its digits', () => assert.equal(show(parse('[1.10]')[0]), '1.10'));
});
