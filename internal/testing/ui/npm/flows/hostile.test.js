import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import { HOSTILE } from '../stage/hostile.js';

const squeezed = (text) => text.replace(/\s+/g, ' ');

/** Fails if a page has anything that one of the texts brought, or ran any of it. */
async function inert(page, name) {
	assert.equal(await page.evaluate(() => globalThis.pwned), undefined, `${name} ran`);
	const found = await page.evaluate(() => [...document.querySelectorAll('script, style, iframe, object, embed, img, base, [onerror], [onload], [onfocus], a[href^="javascript" i], a[href*="//"], link[href*="//"], main h1 b')]
		.map((element) => element.outerHTML).filter((html) => html !== '<script type="module" src="/inbox/app.js"></script>'));
	assert.deepEqual(found, [], `${name} became markup`);
	assert.equal(await page.getByRole('heading', { name: 'Approved by admin', exact: true }).count(), 0);
}

/** Everything of a call that is not folded, as it is read. */
const read = async (page) => squeezed(await page.locator('#main').innerText());

/** The pending requests, when there are so many. */
async function pending(stage, count) {
	for (;;) {
		const requests = await stage.held.pending();
		if (requests.length >= count) return requests;
	}
}

/** Opens a request of a run of so many with nothing folded, and returns what is read of it. */
async function unfolded(stage, page, id, count) {
	await page.goto(`${stage.held.console}/#/requests/${id}`);
	await page.locator(`[id="call-${id}"]`).waitFor();
	await page.locator('.call').nth(count - 1).waitFor();
	const unfold = page.getByRole('button', { name: 'Expand everything' });
	while (await unfold.count()) await unfold.first().click();
	return read(page);
}

flows('hostile texts', {
	async 'in every place of a request they are shown and do nothing'(stage) {
		const page = await stage.open();
		for (const { name, text, shows } of HOSTILE) {
			const tool = { type: 'function', function: { name: 'odd_tool', description: text, parameters: { type: 'object', properties: { value: { type: 'string', description: text } } } } };
			stage.held.begin([{ name: 'odd_tool', arguments: { value: text, [text]: [text] } }, { name: 'bash', arguments: { command: text } }], { user: text, text, tools: [tool] });
			let seen = '';
			for (const { id } of await pending(stage, 2)) seen += await unfolded(stage, page, id, 2);
			const want = squeezed(shows ?? text).trim();
			assert.ok(seen.split(want).length > 5, `${name}: ${want} is not seen in each place:\n${seen}`);
			await inert(page, name);
			await page.getByRole('button', { name: 'Raw JSON' }).first().click();
			await stage.pressMore(page, 'Edit…');
			await inert(page, name);
			await page.keyboard.press('Escape');
			if (name === 'right to left' || name === 'pushed aside') await stage.shot(page, `hostile-${name.replace(/ /g, '-')}`);
			const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			assert.ok(over <= 0, `${name} makes the page ${over} px wider than the screen`);
			await stage.held.clear();
			await page.locator('.row').first().waitFor({ state: 'detached' });
			if (stage.phone) await page.goto(`${stage.held.console}/#/`);
		}
	},

	async 'in every kind of card they are shown and do nothing'(stage) {
		const page = await stage.open();
		for (const { name, text, shows } of HOSTILE) {
			stage.held.begin([
				{ name: 'query_db', arguments: { query: `SELECT '${text}'` } },
				{ name: 'http_request', arguments: { method: 'POST', url: `https://example.com/?${encodeURI(text.slice(0, 100))}<b>`, headers: { [text]: text }, body: text } },
				{ name: 'send_email', arguments: { to: text, subject: text, body: text } },
				{ name: 'nested_tool', arguments: { a: { [text]: [text, { b: text }] } } },
				{ name: 'Write', arguments: { file_path: `/srv/${text}.go`, content: text } },
				{ name: 'Edit', arguments: { file_path: '/srv/a.go', old_string: `a\n${text}`, new_string: `b\n${text}` } },
			]);
			const want = squeezed(shows ?? text).trim();
			for (const { id } of await pending(stage, 6)) {
				await unfolded(stage, page, id, 6);
				for (const card of await page.locator('.call .body').all()) assert.ok(squeezed(await card.innerText()).includes(want), `${name}: ${want} is not seen in a card`);
			}
			await inert(page, name);
			const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			assert.ok(over <= 0, `${name} makes the page ${over} px wider than the screen`);
			await stage.held.clear();
			await page.locator('.row').first().waitFor({ state: 'detached' });
			if (stage.phone) await page.goto(`${stage.held.console}/#/`);
		}
	},

	async 'what is not strict JSON is shown as the text it is'(stage) {
		const page = await stage.open();
		for (const text of ['{"command": "ls", "command": "rm -rf ~"}', '{"command": "ls"', '["ls"]', 'ls <b>-la</b>', '']) {
			stage.held.begin([{ name: 'bash', arguments: text }]);
			await stage.look(page, 'bash');
			assert.ok((await read(page)).includes(text), text);
			await inert(page, text);
			await stage.held.clear();
			await page.locator('.row').first().waitFor({ state: 'detached' });
			if (stage.phone) await page.goto(`${stage.held.console}/#/`);
		}
	},

	async 'a long word with a foreign letter is seen to its end'(stage) {
		const page = await stage.open();
		stage.held.begin([{ name: 'odd_tool', arguments: { value: `${'identifier_'.repeat(60)}\u0430_rm_rf` } }]);
		await stage.look(page, 'odd_tool');
		const mark = page.locator('#main mark.hidden-mixed').first();
		await mark.waitFor();
		const [end, edge] = await mark.evaluate((element) => [element.getBoundingClientRect().right, element.closest('.call').getBoundingClientRect().right]);
		assert.ok(end <= edge, `the word ends at ${end}, and the card at ${edge}`);
	},

	async 'numbers keep their digits'(stage) {
		stage.held.begin([{ name: 'transfer', arguments: '{"account": 12345678901234567890, "amount": 1.10}' }]);
		const page = await stage.open();
		await stage.look(page, 'transfer');
		const seen = await read(page);
		assert.ok(seen.includes('12345678901234567890') && seen.includes('1.10'), seen);
	},
});
