// What happened to a call after it was approved.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import { HOSTILE } from '../stage/hostile.js';

const squeezed = (text) => text.replace(/\s+/g, ' ');

/** Approves a call that an agent makes, and returns its request after the release. */
async function released(stage) {
	const answer = stage.held.hold([{ name: 'odd_tool', arguments: {} }]);
	let request;
	while (!request) [request] = await stage.held.pending();
	await stage.held.api('POST', `/api/v1/requests/${request.id}/decision`, { action: 'approve' });
	await answer;
	return request;
}

flows('results', {
	async 'the release and the result arrive while the request is shown'(stage) {
		const request = await released(stage);
		const page = await stage.open(`/#/requests/${request.id}`);
		await page.locator('.result', { hasText: 'Released to the agent' }).waitFor();
		await stage.held.report(request, Array.from({ length: 200 }, (_, i) => `line ${i + 1}`).join('\n'), 'I have read it.');
		const strip = page.locator('.result', { hasText: 'I have read it.' });
		await strip.waitFor();
		assert.equal(await strip.getByText('line 200').count(), 0, 'a long result is folded');
		await strip.getByRole('button', { name: 'Show all of it' }).click();
		await strip.getByText('line 200').waitFor();
		await stage.check(page);
		await stage.shot(page, 'result');
	},

	async 'a result is marked if it is an error'(stage) {
		const [failed, fine] = [await released(stage), await released(stage)];
		await stage.held.reportError(failed, 'no such file', 'It is missing.');
		await stage.held.report(fine, 'two files', 'I have read it.');
		const page = await stage.open(`/#/requests/${failed.id}`);
		await page.locator('.result.failed', { hasText: 'no such file' }).getByText('Failed', { exact: true }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'result-failed');
		await page.goto(`${stage.held.console}/#/requests/${fine.id}`);
		await page.locator('.result', { hasText: 'two files' }).getByText('Result', { exact: true }).waitFor();
		assert.equal(await page.locator('.result.failed').count(), 0, 'a result without an error is marked as failed');
	},

	async 'hostile results are shown and do nothing'(stage) {
		const page = await stage.open();
		for (const { name, text, shows } of HOSTILE) {
			const request = await released(stage);
			await stage.held.report(request, text, text);
			await page.goto(`${stage.held.console}/#/requests/${request.id}`);
			await page.locator('.result .said').waitFor();
			const unfold = page.locator('.result').getByRole('button', { name: 'Show all of it' });
			while (await unfold.count()) await unfold.first().click();
			const seen = squeezed(await page.locator('.result').innerText());
			const want = squeezed(shows ?? text).trim();
			const places = text.length > 1000 ? 1 : 2; // of the next message less is recorded
			assert.ok(seen.split(want).length > places, `${name}: ${want} is not seen in the result and the next message:\n${seen}`);
			assert.equal(await page.evaluate(() => globalThis.pwned), undefined, `${name} ran`);
			assert.equal(await page.locator('.result').locator('script, style, img, svg, a, h1, link').count(), 0, `${name} became markup`);
			const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			assert.ok(over <= 0, `${name} makes the page ${over} px wider than the screen`);
		}
	},
});
