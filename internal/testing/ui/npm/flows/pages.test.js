import assert from 'node:assert/strict';
import { around, edit, push, transfer, writeFile } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

/** What a browser has saved. */
async function text(download) {
	let whole = '';
	for await (const piece of await download.createReadStream()) whole += piece;
	return whole;
}

/** Holds a call and decides it. */
async function ended(stage, call, choice, about = around) {
	const answer = stage.held.hold([call], about);
	const [request] = await stage.asked(call.name);
	await stage.held.api('POST', `/api/v1/requests/${request.id}/decision`, choice);
	await answer;
	return request;
}

flows('pages', {
	async 'history is searched and filtered'(stage) {
		await ended(stage, push, { action: 'approve' });
		await ended(stage, transfer, { action: 'deny', note: 'Ask finance first.' }, { ...around, key: 'key-of-bob' });
		await ended(stage, writeFile, { action: 'modify_args', modified_args: { path: 'x', content: 'y' } });
		const page = await stage.open();
		await page.getByRole('link', { name: 'History' }).click();
		await page.locator('.entry').nth(2).waitFor();
		assert.match(await page.locator('.entry').nth(0).textContent(), /write_file.*changed by local/);
		assert.match(await page.locator('.entry').nth(1).textContent(), /transfer_money.*denied by local.*Ask finance first/);
		await stage.check(page);
		await stage.shot(page, 'history');
		await page.getByLabel('Search').fill(`finance BOB ${stage.held.session}`);
		await page.getByRole('button', { name: 'Search' }).click();
		await page.getByText(/^1 request$/).first().waitFor();
		assert.equal(await page.locator('.entry').count(), 1);
		await page.reload();
		await page.getByText(/^1 request$/).first().waitFor();
		await page.getByLabel('Search').fill('nothing has <b>this</b>');
		await page.getByRole('button', { name: 'Search' }).click();
		await page.getByText('No matches.').waitFor();
		await page.getByLabel('Search').fill('');
		await page.getByLabel('Outcome').selectOption('denied');
		await page.waitForFunction(() => [...document.querySelectorAll('.entry')].length > 0 && [...document.querySelectorAll('.end')].every((end) => end.textContent === 'denied'));
		await page.locator('.entry').first().click();
		await page.locator('.outcome.denied', { hasText: 'Ask finance first.' }).waitFor();
		await stage.shot(page, 'ended');
	},

	async 'history has ended requests only, is filtered and exported'(stage) {
		await ended(stage, push, { action: 'approve' });
		await ended(stage, transfer, { action: 'deny', note: 'Ask finance first.' }, { ...around, key: 'key-of-bob' });
		stage.held.begin([edit], around);
		await stage.asked('Edit');
		const day = (days) => { const date = new Date(Date.now() + days * 86_400_000); return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((n) => String(n).padStart(2, '0')).join('-'); };
		const page = await stage.open(`/#/history?q=${stage.held.session}`);
		await page.getByText(/^2 requests$/).waitFor();
		await page.getByText('More filters').click();
		await stage.check(page);
		await stage.shot(page, 'filters');
		for (const [label, value] of [['Agent', 'release'], ['Tool', 'TRANSFER'], ['Day', day(0)]]) {
			await page.getByLabel(label, { exact: true }).fill(value);
			await page.getByLabel(label, { exact: true }).press('Enter');
			await page.getByText(/^1 request$/).waitFor();
			await page.waitForFunction(() => document.querySelectorAll('.entry').length === 1);
		}
		for (const [name, first] of [['CSV', /^"id",[^\n]*\r\n"\w+",[^\n]*"denied"[^\n]*"release-bot"[^\n]*"local","Ask finance first\.",""\r\n$/], ['JSON lines', /^\{[^\n]*"tool_name":"transfer_money"[^\n]*\}\n$/]]) {
			const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
			assert.match(await text(saved), first);
			await page.getByText('1 request saved.').waitFor();
		}
		await page.getByLabel('Day', { exact: true }).fill(day(-2));
		await page.getByLabel('Day', { exact: true }).press('Enter');
		await page.getByText('No matches.').waitFor();
	},

	async 'a run tells its story, is paused, resumed and stopped'(stage) {
		const run = `release/${stage.size} 1.4`;
		await ended(stage, push, { action: 'approve' }, { ...around, run });
		await ended(stage, edit, { action: 'deny', note: 'Not this file.' }, { ...around, run, user: 'And fix the invoice.' });
		stage.held.begin([writeFile], { ...around, run, user: 'And fix the invoice.' });
		await stage.asked(writeFile.name); // the list of runs is read once
		const page = await stage.open();
		await page.getByRole('link', { name: 'Runs' }).click();
		await page.locator('.entry', { hasText: '3 requests, 1 waiting' }).click();
		await page.getByRole('heading', { name: run }).waitFor();
		assert.deepEqual(await page.locator('.story .said.user').allTextContents(), [around.user, 'And fix the invoice.']);
		assert.equal(await page.locator('.story .entry').count(), 3);
		await stage.check(page);
		await stage.shot(page, 'run');
		await page.getByRole('button', { name: 'Pause' }).click();
		await page.locator('.facts .paused').waitFor();
		await page.getByRole('button', { name: 'Resume' }).click();
		await page.locator('.facts .running').waitFor();
		await page.getByRole('button', { name: 'Stop the run…' }).click();
		await stage.check(page);
		await page.getByRole('dialog').getByRole('button', { name: 'Stop the run' }).click();
		await page.locator('.facts .aborted').waitFor();
		await page.locator('.end.cancelled').waitFor();
	},
});
