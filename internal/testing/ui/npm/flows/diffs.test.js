// Calls that write files, as in a review.

import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { flows } from '../stage/browser.js';
import { HOSTILE } from '../stage/hostile.js';

/** Writes a file of the workspace, and returns its path. */
function keep(stage, name, text) {
	const path = join(stage.held.workspace, name);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
	return path;
}

const numberedLines = (n, text = (/** @type {number} */ i) => `const line${i} = ${i};`) => Array.from({ length: n }, (_, i) => text(i + 1)).join('\n') + '\n';

/** Opens the request about a call of this tool. */
async function opened(stage, call, about) {
	stage.held.begin([call], about);
	const [request] = await stage.asked(call.name);
	const page = await stage.open(`/#/requests/${request.id}`);
	await page.locator(`[id="call-${request.id}"]`).waitFor();
	await stage.settled(page);
	return { page, request, card: page.locator(`[id="call-${request.id}"]`) };
}

const numbers = (card) => card.locator('.diff td.n').allTextContents();

flows('diffs', {
	async 'edits have the head of their file, its line numbers and colours'(stage) {
		const path = keep(stage, `src/edited-${stage.size}.js`, numberedLines(60));
		const { page, card } = await opened(stage, { name: 'MultiEdit', arguments: { file_path: path, edits: [
			{ old_string: 'const line20 = 20;', new_string: 'const line20 = "twenty"; // a word\nconst more = 1;' },
			{ old_string: 'const line40 = 40;', new_string: 'const line40 = 41;' },
		] } });
		await card.locator('.written summary code', { hasText: path }).waitFor();
		assert.equal(await card.locator('.written .counts').textContent(), '+3 −2');
		assert.deepEqual(await numbers(card), ['', '20', '20', '21', '', '40', '41']);
		assert.ok((await card.locator('.diff .tok-string').allTextContents()).includes('"twenty"'), 'no colours');
		assert.equal(await card.locator('code', { hasText: path }).count(), 1, 'the path is at the head only');
		await stage.check(page);
		await stage.shot(page, 'diff-edit');
		await card.locator('.written summary').click();
		await card.locator('.diff').first().waitFor({ state: 'hidden' });
		await card.getByRole('button', { name: 'Raw JSON' }).click();
		await card.getByRole('button', { name: 'Read as a call' }).click();
		assert.equal(await card.locator('.written[open]').count(), 0, 'a closed file stays closed');
		await card.locator('.written summary').press('Enter');
		await card.locator('.diff').first().waitFor();
	},

	async 'a written file is new, or shows what it overwrites'(stage) {
		const path = keep(stage, `docs/guide-${stage.size}.md`, 'one\ntwo\nthree\n');
		const over = await opened(stage, { name: 'Write', arguments: { file_path: path, content: 'one\n2\nthree\n' } });
		await over.card.locator('.written .badge', { hasText: 'overwrites' }).waitFor();
		assert.deepEqual(await over.card.locator('.diff tr').evaluateAll((rows) => rows.map((row) => row.className)), ['', 'out', 'in', '']);
		assert.deepEqual(await numbers(over.card), ['1', '2', '2', '3']);
		await stage.check(over.page);
		await stage.shot(over.page, 'diff-overwrites');
		await stage.held.clear();
		const fresh = await opened(stage, { name: 'Write', arguments: { file_path: join(stage.held.workspace, `new-${stage.size}.py`), content: 'def f():\n\treturn 1  # one\n' } });
		await fresh.card.locator('.written .badge', { hasText: 'new file' }).waitFor();
		assert.equal(await fresh.card.locator('.written .counts').textContent(), '+2 −0');
		await stage.check(fresh.page);
		await stage.shot(fresh.page, 'diff-new');
	},

	async 'no text of hidden, secret, linked or foreign files is on a card'(stage) {
		const word = 'kept-to-itself-4711';
		const paths = [keep(stage, `.hidden-${stage.size}`, word), keep(stage, `credentials-${stage.size}.json`, word), join(stage.held.workspace, `link-${stage.size}`), join(stage.held.other, `outside-${stage.size}`)];
		writeFileSync(paths[3], word);
		symlinkSync(paths[3], paths[2]);
		for (const [i, path] of paths.entries()) {
			const { page, card, request } = await opened(stage, { name: 'Write', arguments: { file_path: path, content: 'x\n' } });
			await card.locator('.written').waitFor();
			assert.ok(!(await page.content()).includes(word), path);
			assert.ok(!JSON.stringify(await stage.held.api('GET', `/api/v1/requests/${request.id}`)).includes(word), path);
			assert.equal(await card.locator('.written .badge', { hasText: 'overwrites' }).count(), i < 2 ? 1 : 0, `${path}: what is known`);
			await stage.held.clear();
		}
	},

	async 'a patch is its files'(stage) {
		const name = `lib/patched-${stage.size}.go`;
		keep(stage, name, 'package lib\n\nfunc a() {\n\tone()\n}\n\nfunc b() {\n\tone()\n}\n');
		const { page, card } = await opened(stage, { name: 'apply_patch', arguments: { input: `*** Begin Patch
*** Add File: lib/fresh-${stage.size}.go
+package lib
*** Update File: ${name}
*** Move to: lib/moved-${stage.size}.go
@@ func b() {
-\tone()
+\ttwo()
 }
*** Delete File: lib/old.go
*** End Patch` } });
		await card.locator('.written').nth(2).waitFor();
		assert.deepEqual(await card.locator('.written > summary').evaluateAll((all) => all.map((one) => one.innerText.replace(/\s+/g, ' ').trim())), [
			`lib/fresh-${stage.size}.go new file +1 −0`, `${name} moved to lib/moved-${stage.size}.go +1 −1`, 'lib/old.go deleted']);
		assert.deepEqual(await numbers(card), ['1', '', '8', '8', '9']);
		await stage.check(page);
		await stage.shot(page, 'diff-patch');
	},

	async 'side by side at the width of a desk, which is kept'(stage) {
		const path = keep(stage, `src/split-${stage.size}.js`, numberedLines(9));
		const { page, card } = await opened(stage, { name: 'Write', arguments: { file_path: path, content: numberedLines(9).replace('line5 = 5;', 'line5 = "five";\nconst added = 1;') } });
		const button = card.getByRole('button', { name: 'Side by side' });
		if (stage.phone) return assert.equal(await button.count(), 0);
		await button.press('Enter');
		await card.locator('.diff.split').waitFor();
		const rows = await card.locator('.diff.split tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent).join('|')));
		assert.deepEqual(rows.slice(4, 7), ['5|removed: const line5 = 5;|5|added: const line5 = "five";', '||6|added: const added = 1;', '6|const line6 = 6;|7|const line6 = 6;']);
		assert.equal(await card.getByRole('button', { name: 'Side by side' }).getAttribute('aria-pressed'), 'true');
		await stage.check(page);
		await stage.shot(page, 'diff-split');
		await page.reload();
		await card.locator('.diff.split').waitFor();
		await page.setViewportSize({ width: 500, height: 800 });
		await page.reload();
		await card.locator('.diff:not(.split)').waitFor();
	},

	async 'ten thousand lines and a long line are folded, and shown in tables of their own'(stage) {
		const { page, card } = await opened(stage, { name: 'MultiEdit', arguments: { file_path: keep(stage, `src/long-${stage.size}.js`, 'x\n'), edits: [
			{ old_string: numberedLines(5000), new_string: numberedLines(5000, (i) => `let line${i} = ${i};`) },
			{ old_string: 'a', new_string: `${'long '.repeat(20_000)}end` },
		] } });
		await card.locator('.unfold').waitFor();
		assert.ok(await card.locator('.diff tr').count() < 50, 'not folded');
		assert.ok(await card.locator('button.approve').isDisabled(), 'it can be approved before it is shown');
		await card.getByRole('button', { name: 'Expand everything' }).click();
		await card.locator('.lines').nth(49).waitFor({ state: 'attached' });
		assert.equal(await card.locator('.diff tr').count(), 10_005, 'two headings, and a line that is kept');
		assert.ok(await page.evaluate(() => [...document.querySelectorAll('.lines')].some((part) => part.firstElementChild?.checkVisibility({ contentVisibilityAuto: true }) === false)), 'all of it is laid out');
		await stage.settled(page);
		await card.locator('button.approve:enabled').waitFor();
	},

	async 'hostile texts in an overwritten file, in paths and in patches do nothing'(stage) {
		const text = HOSTILE.map((one) => one.text.replaceAll('\u0000', '')).join('\n');
		const path = keep(stage, `src/hostile-${stage.size}.js`, text);
		const calls = [
			{ name: 'Write', arguments: { file_path: path, content: 'x' } },
			{ name: 'apply_patch', arguments: { input: `*** Begin Patch\n${HOSTILE.map((one) => `*** Add File: ${one.text.replaceAll('\n', '')}\n+${one.text.replaceAll('\n', '')}`).join('\n')}\n*** End Patch` } },
		];
		for (const call of calls) {
			const { page, card } = await opened(stage, call);
			const unfold = card.getByRole('button', { name: 'Expand everything' });
			while (await unfold.count()) await unfold.first().click();
			const seen = (await card.innerText()).replace(/\s+/g, ' ');
			for (const { name, text: hostile, shows } of HOSTILE) assert.ok(seen.includes((shows ?? hostile).replace(/\s+/g, ' ').trim()), `${call.name}: ${name} is not seen`);
			assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
			assert.equal(await card.locator('script, style, img, svg, a, iframe, link').count(), 0);
			assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth) <= 0, 'wider than the screen');
			await stage.held.clear();
		}
	},
}, { workspace: true });

flows('diffs of files that heldcall does not see', {
	async 'the numbers are those of an earlier result'(stage) {
		const call = { role: 'assistant', content: null, tool_calls: [{ id: 'call_read', type: 'function', function: { name: 'Read', arguments: '{"file_path":"/srv/app.js"}' } }] };
		const before = [{ role: 'user', content: 'Look.' }, call, { role: 'tool', tool_call_id: 'call_read', content: '   120→const a = 1;\n   121→const b = 2;' }];
		const { page, card } = await opened(stage, { name: 'Edit', arguments: { file_path: '/srv/app.js', old_string: 'const b = 2;', new_string: 'const b = 3;' } }, { before });
		assert.deepEqual(await numbers(card), ['121', '121']);
		await card.getByText('Line numbers as the agent last read the file.').waitFor();
		await stage.check(page);
	},

	async 'what is not known is not shown'(stage) {
		const { card } = await opened(stage, { name: 'Edit', arguments: { file_path: '/srv/app.js', old_string: 'const b = 2;', new_string: 'const b = 3;' } });
		await card.locator('.diff tr.in').waitFor();
		assert.deepEqual([await numbers(card), await card.locator('.written .badge').count()], [[], 0]);
	},
});
