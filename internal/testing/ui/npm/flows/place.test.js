// The reader keeps their place: after decisions, arrivals and filters a key acts on the request that they look at.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import { edit, push, transfer } from '../stage/calls.js';

const TOO_SOON = 'This has just changed. Look at it, then press again.';

const selected = (page, id) => page.locator(`.row.selected[data-id="${id}"]`).waitFor();
const ids = (page) => page.locator('.row').evaluateAll((rows) => rows.map((row) => row.dataset.id));
const status = async (stage, id) => (await stage.held.api('GET', `/api/v1/requests/${id}`)).status;
/** Where the selected row is in the window, in pixels. */
const height = (page) => page.locator('.row.selected').evaluate((row) => Math.round(row.getBoundingClientRect().top));

/** Holds so many calls, each of a run of its own, and opens the list. */
async function openList(stage, count) {
	for (let i = 0; i < count; i++) stage.held.begin([{ name: 'bash', arguments: { command: `echo ${i}` } }], { session: `${stage.held.session}-${i}` });
	const page = await stage.open();
	await page.locator('.row').nth(count - 1).waitFor();
	return page;
}

/** Presses a key when the page shows another call than now, before anything else. */
const pressAtChange = (page, key) => page.evaluate((key) => {
	const before = document.querySelectorAll('#main .call').length;
	globalThis.pressed = new Promise((resolve) => {
		new MutationObserver((_, observer) => {
			if (document.querySelectorAll('#main .call').length === before) return;
			observer.disconnect();
			document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
			resolve(null);
		}).observe(document.querySelector('#main'), { childList: true, subtree: true });
	});
}, key);

flows('place', {
	async 'ten decisions in a row are about the rows from the selected one down'(stage) {
		if (stage.phone) return;
		const page = await openList(stage, 14);
		const order = await ids(page);
		await page.locator('.row a').nth(2).click();
		await selected(page, order[2]);
		await stage.settled(page);
		const top = await height(page);
		for (const id of order.slice(2, 12)) {
			await selected(page, id);
			await stage.settled(page);
			assert.ok(Math.abs(await height(page) - top) <= 1, 'the list has moved');
			await page.locator(`#main [id="call-${id}"]`).waitFor();
			await page.keyboard.press('a');
		}
		await selected(page, order[12]);
		assert.deepEqual((await stage.held.pending()).map(({ id }) => id).sort(), [...order.slice(0, 2), ...order.slice(12)].sort());
		await stage.settled(page);
		await page.keyboard.press('j');
		await selected(page, order[13]);
		await page.keyboard.press('a');
		await selected(page, order[12]); // nothing is below the last one
	},

	async 'a request that arrives between look and key changes nothing'(stage) {
		if (stage.phone) return;
		const page = await openList(stage, 3);
		const [, looked] = await ids(page);
		await page.locator('.row a').nth(1).click();
		await selected(page, looked);
		await stage.settled(page);
		stage.held.begin([transfer]);
		await page.waitForFunction(() => document.querySelector('.row .tool').textContent === 'transfer_money');
		await selected(page, looked);
		await page.keyboard.press('a');
		await page.locator(`.row[data-id="${looked}"]`).waitFor({ state: 'detached' });
		assert.equal(await status(stage, looked), 'approved');
		assert.equal((await stage.held.pending()).length, 3);
	},

	async 'a key just after another call has come does nothing, and the page says so'(stage) {
		const run = `changing-${stage.size}`;
		stage.held.begin([push], { run });
		const [looked] = await stage.asked('bash');
		const page = await stage.open(`/#/requests/${looked.id}`);
		await page.locator(`#main [id="call-${looked.id}"]`).waitFor();
		await stage.settled(page);
		for (const key of ['a', 'd']) {
			await pressAtChange(page, key);
			stage.held.begin([{ ...edit, name: `edit_${key}` }], { run });
			await page.evaluate(() => globalThis.pressed);
			await page.getByText(TOO_SOON).first().waitFor();
			assert.equal(await page.locator('.call form').count(), 0);
			await stage.settled(page);
		}
		assert.equal((await stage.held.pending()).length, 3);
		await page.keyboard.press('a');
		await page.locator(`[id="call-${looked.id}"] .outcome.approved`).or(page.getByText('Approved: bash')).first().waitFor();
		assert.equal(await status(stage, looked.id), 'approved');
	},

	async 'a filter moves the selection, Enter opens its first, Escape leaves it'(stage) {
		const page = await openList(stage, 3);
		const wanted = (await stage.asked('bash')).find(({ resource }) => resource.includes('echo 1')).id;
		await page.getByLabel('Filter the list').fill('echo 1');
		await page.locator('.row').nth(1).waitFor({ state: 'detached' });
		if (!stage.phone) await selected(page, wanted);
		await page.keyboard.press('Enter');
		await page.locator(`#main [id="call-${wanted}"]`).waitFor();
		assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
		if (stage.phone) return;
		await page.keyboard.press('/');
		await page.keyboard.type(' nothing has this');
		await page.getByRole('heading', { name: 'No matches' }).waitFor();
		await page.keyboard.press('Escape');
		await page.locator('.row').nth(2).waitFor();
		await selected(page, wanted);
		assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
	},

	async 'Backspace goes back, and j goes on from where one was'(stage) {
		if (stage.phone) return;
		const page = await openList(stage, 4);
		const order = await ids(page);
		await page.locator('.row a').nth(1).click();
		await selected(page, order[1]);
		await stage.settled(page);
		await page.keyboard.press('a');
		await selected(page, order[2]);
		await page.keyboard.press('Backspace');
		await page.locator(`[id="call-${order[1]}"] .outcome.approved`).waitFor();
		await page.keyboard.press('j');
		await selected(page, order[2]);
		await page.keyboard.press('j');
		await selected(page, order[3]);
		await page.keyboard.press('Backspace');
		await selected(page, order[2]);
	},

	async 'the row of a link is in sight'(stage) {
		if (stage.phone) return;
		const page = await openList(stage, 25);
		const last = (await ids(page)).at(-1);
		const other = await stage.open(`/#/requests/${last}`);
		await selected(other, last);
		await other.waitForFunction(() => {
			const [row, list] = [document.querySelector('.row.selected'), document.querySelector('#rows')].map((one) => one.getBoundingClientRect());
			return row.top >= list.top && row.bottom <= list.bottom + 1;
		});
	},
});
