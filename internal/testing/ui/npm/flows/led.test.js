// What led to a call, and the run as a timeline.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import { HOSTILE } from '../stage/hostile.js';

/** An earlier call of a tool, and its result. */
const earlier = (id, name, args, content) => [
	{ role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }, { role: 'tool', tool_call_id: id, content }];

const tool = (name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } });
const address = (run) => `/#/runs/${encodeURIComponent(`${run}@acme`)}`;

flows('what led here', {
	async 'the last steps are on the request, and on the timeline of the run'(stage) {
		const run = `led-${stage.size}`;
		const before = [{ role: 'user', content: 'Look.' }, ...earlier('call_a', 'Read', { file_path: '/srv/app/main.go' }, 'package main'), ...earlier('call_b', 'Grep', { pattern: 'Total' }, '3 matches\nmain.go:7')];
		stage.held.begin([{ name: 'terminal', arguments: { command: 'rm -rf build' } }], { before, run, text: 'I clean up.', tools: ['Read', 'Grep', 'terminal'].map(tool) });
		const [request] = await stage.asked('terminal');
		const page = await stage.open(`/#/requests/${request.id}`);
		const rail = page.locator('.led');
		assert.deepEqual(await rail.locator('.step').evaluateAll((all) => all.map((step) => step.innerText.replace(/\s+/g, ' ').trim())), ['Read /srv/app/main.go package main', 'Grep Total 3 matches main.go:7']);
		await stage.check(page);
		await rail.scrollIntoViewIfNeeded();
		await stage.shot(page, 'led');
		await rail.getByRole('link', { name: 'The whole run' }).click();
		await page.locator('.timeline > li').nth(3).waitFor();
		const rows = await page.locator('.timeline > li').evaluateAll((all) => all.map((row) => row.innerText.replace(/\s+/g, ' ').trim()));
		assert.deepEqual([rows[0], rows[1], rows[2]], ['Read /srv/app/main.go package main', 'Grep Total 3 matches main.go:7', 'I clean up.']);
		assert.match(rows[3], /^terminal rm -rf build waiting/);
		await stage.check(page);
		await stage.shot(page, 'timeline');
	},

	async 'a call of the same answer that passes is a step'(stage) {
		stage.held.begin([{ name: 'passes', arguments: { path: 'src' } }, { name: 'ask_each_time', arguments: {} }]);
		const [request] = await stage.asked('ask_each_time');
		const page = await stage.open(`/#/requests/${request.id}`);
		await page.locator('.led .step.waits', { hasText: 'passes src' }).getByText('In the same answer: the agent gets it without approval.').waitFor();
		await stage.check(page);
	},

	async 'hostile steps are shown and do nothing'(stage) {
		for (const { name, text, shows } of HOSTILE) {
			const run = `hostile-${name.replace(/ /g, '-')}-${stage.size}`;
			stage.held.begin([{ name: 'ask_each_time', arguments: {} }], { run, before: [{ role: 'user', content: 'Look.' }, ...earlier('call_a', 'odd', { value: 1 }, `begin ${text}`)], tools: [tool('odd'), tool('ask_each_time')] });
			const [request] = await stage.asked('ask_each_time');
			const page = await stage.open(`/#/requests/${request.id}`);
			const result = page.locator('.led .returned');
			await result.waitFor();
			if (text.length < 200) assert.ok((await result.textContent()).replace(/\s+/g, ' ').includes((shows ?? text).replace(/\s+/g, ' ').trim()), name);
			for (const place of ['', address(run)]) {
				if (place) await page.goto(stage.held.console + place);
				if (place) await page.locator('.timeline .step').waitFor();
				assert.equal(await page.evaluate(() => globalThis.pwned), undefined, `${name} ran`);
				assert.equal(await page.locator('.step').locator('script, style, img, svg, a, h1, link').count(), 0, `${name} became markup`);
				assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth) <= 0, `${name} makes the page wider than the screen`);
			}
			await page.close();
			await stage.held.clear();
		}
	},

	async 'a run is shown as idle a minute after an answer without calls'(stage) {
		const run = `idle-${stage.size}`;
		stage.held.begin([{ name: 'ask_each_time', arguments: {} }], { run });
		const [request] = await stage.asked('ask_each_time');
		// The minute passes at once: in what the page receives, the answer is a minute older.
		const before = (context) => context.route(/\/api\/v1\/runs(?:\/[^/]+)?$/, async (route) => {
			const response = await route.fetch();
			const age = (value) => (value.answered_at ? { ...value, answered_at: new Date(Date.parse(value.answered_at) - 60_000).toISOString() } : value);
			const body = await response.json();
			await route.fulfill({ response, json: body.items ? { ...body, items: body.items.map(age) } : age(body) });
		});
		const page = await stage.open(address(run), { before });
		await page.locator('.facts .end', { hasText: /^Running$/ }).waitFor();
		await stage.held.api('POST', `/api/v1/requests/${request.id}/decision`, { action: 'deny' });
		for (;;) {
			if ((await stage.held.api('GET', `/api/v1/runs/${encodeURIComponent(`${run}@acme`)}`)).last_outcome) break;
		}
		await page.reload();
		await page.locator('.facts .end', { hasText: /^Running$/ }).waitFor(); // the answer had a call
		await fetch(`${stage.held.proxy}/v1/chat/completions`, { method: 'POST', headers: { Authorization: 'Bearer key-of-ann', 'X-Heldcall-Session': stage.held.session, 'X-Heldcall-Run': run },
			body: JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content: 'And now?' }], metadata: { next: 'Nothing.' } }) }).then((response) => response.text());
		await page.locator('.facts .end.idle', { hasText: /^Idle$/ }).waitFor(); // without a reload
		await stage.check(page);
		await stage.shot(page, 'idle');
		assert.equal((await stage.held.api('GET', `/api/v1/runs/${encodeURIComponent(`${run}@acme`)}`)).state, 'running', 'the state is as before');
		await page.goto(`${stage.held.console}/#/runs`);
		await page.locator('.entry', { hasText: 'Idle' }).first().waitFor();
		await stage.check(page);
	},
});
