import assert from 'node:assert/strict';
import { around, edit, patch, push, transfer, writeFile } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

flows('staying current', {
	async 'the list is ordered by risk, then time left, or by age'(stage) {
		const page = await stage.open();
		for (const call of [push, edit, transfer, patch, writeFile]) {
			stage.held.begin([call], around);
			await page.locator('.row', { hasText: call.name }).waitFor();
		}
		const tools = () => page.locator('.row .tool').allTextContents();
		assert.deepEqual(await tools(), ['transfer_money', 'bash', 'write_file', 'Edit', 'apply_patch']);
		await stage.shot(page, 'list');
		await page.getByLabel('Order of the list').selectOption('age');
		await page.waitForFunction(() => document.querySelector('.row .tool').textContent === 'bash');
		assert.deepEqual(await tools(), ['bash', 'Edit', 'transfer_money', 'apply_patch', 'write_file']);
		await page.reload();
		await page.locator('.row').nth(4).waitFor();
		assert.deepEqual(await tools(), ['bash', 'Edit', 'transfer_money', 'apply_patch', 'write_file'], 'the order is remembered');
		for (const name of ['Edit', 'apply_patch', 'write_file', 'transfer_money']) {
			await stage.look(page, name);
			await stage.check(page);
			await stage.shot(page, `detail-${name}`);
			if (stage.phone) await page.getByRole('link', { name: 'All requests' }).click();
		}
	},

	async 'a long list is whole, keeps its order and its place'(stage) {
		const page = await stage.open();
		const many = 70;
		let asked = 0;
		for (let i = 0; i < many; i++) {
			const calls = i % 20 === 7 ? [push, edit, patch, writeFile, push] : [push];
			stage.held.begin(calls, { ...around, session: `${stage.held.session}-${i}` });
			asked += calls.length;
		}
		await page.locator('#list .count', { hasText: new RegExp(`^${asked}$`) }).waitFor(); // a row grows with its turn
		const rows = page.locator('#rows');
		const height = () => rows.evaluate((list) => list.scrollHeight);
		const guessed = await height();
		for (let at = 0; at < guessed; at += 400) await rows.evaluate((list, top) => { list.scrollTop = top; return new Promise(requestAnimationFrame); }, at);
		assert.ok(Math.abs(await height() - guessed) < many / 4, `blocks are as high out of sight as in sight: ${guessed} px, ${await height()} px`);
		const seen = () => rows.evaluate((list) => [...list.querySelectorAll('.row')].find((row) => row.getBoundingClientRect().top >= list.getBoundingClientRect().top)?.dataset.id);
		const before = await seen();
		stage.held.begin([transfer], around);
		await page.waitForFunction(() => document.querySelector('.row .tool').textContent === 'transfer_money');
		while (await seen() !== before) await rows.evaluate(() => new Promise(requestAnimationFrame)); // the browser keeps what is looked at in its place, within some frames
		await page.getByLabel('Order of the list').selectOption('age');
		await page.waitForFunction(() => [...document.querySelectorAll('.row')].every((row, i, all) => i === 0 || all[i - 1].dataset.id < row.dataset.id)); // what ends soon is at the top before
		const ids = await page.locator('.row').evaluateAll((all) => all.map((row) => row.dataset.id));
		assert.equal(new Set(ids).size, many + 1);
		if (stage.phone) return;
		const selected = (id) => page.locator(`.row.selected[data-id="${id}"]`).waitFor();
		await page.locator('.row a').last().click();
		await selected(ids.at(-1));
		await page.keyboard.press('k');
		await selected(ids.at(-2));
		await page.keyboard.press('j');
		await selected(ids.at(-1));
		assert.equal(await page.getByRole('listitem').filter({ has: page.getByRole('checkbox') }).count(), many + 1);
	},

	async 'a reload shows the same request'(stage) {
		stage.held.begin([push], around);
		stage.held.begin([edit], around);
		const page = await stage.open();
		await stage.look(page, 'Edit');
		await page.reload();
		await page.getByRole('heading', { name: 'claude-code wants to edit a file' }).waitFor();
	},

	async 'a lost connection is told, and mended by itself'(stage) {
		const page = await stage.open();
		await stage.held.halt();
		await page.getByRole('alert').filter({ hasText: 'Connection lost' }).waitFor();
		await page.waitForFunction(() => document.title.includes('offline'));
		await stage.check(page);
		await stage.shot(page, 'offline');
		await stage.held.start();
		stage.held.begin([push], around);
		await page.locator('.row', { hasText: 'bash' }).waitFor();
		await page.getByRole('alert').waitFor({ state: 'hidden' });
	},

	async 'what was decided while one was offline is shown'(stage) {
		stage.held.begin([push], around);
		const page = await stage.open();
		await stage.look(page, 'bash');
		await page.context().setOffline(true);
		const [request] = await stage.held.pending();
		await stage.held.api('POST', `/api/v1/requests/${request.id}/decision`, { action: 'approve' });
		await page.context().setOffline(false);
		await page.locator('.outcome.approved', { hasText: 'Approved by local' }).waitFor();
	},

	async 'who decides is shown, and who does too after a while'(stage) {
		stage.held.begin([{ name: 'urgent_thing', arguments: { n: 1 } }], around);
		const page = await stage.open();
		await stage.look(page, 'urgent_thing');
		await page.locator('#ask', { hasText: 'Approvers: finance' }).waitFor();
		await page.locator('#ask', { hasText: 'Approvers: finance or oncall, escalated to oncall' }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'escalated');
	},

	async 'the keyboard does all that is done often'(stage) {
		if (stage.phone) return;
		const answers = [stage.held.hold([push], around), stage.held.hold([edit], around), stage.held.hold([patch], around)];
		const page = await stage.open();
		await page.locator('.row').nth(2).waitFor();
		await stage.settled(page);
		await page.keyboard.press('j');
		await page.keyboard.press('j');
		await page.keyboard.press('k');
		await page.keyboard.press('?');
		await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'help');
		await page.keyboard.press('Escape');
		await page.getByRole('dialog').waitFor({ state: 'detached' });
		await page.keyboard.press('d');
		await page.keyboard.type('a note with a, d and e');
		await page.keyboard.press('Enter');
		await page.getByText(/^Denied: /).waitFor();
		await stage.settled(page);
		await page.keyboard.press('e');
		await page.locator('.call form textarea').first().waitFor();
		await page.keyboard.press('Escape');
		await page.keyboard.press('a');
		await page.getByText(/^Approved: /).waitFor();
		await stage.settled(page);
		await page.keyboard.press('a');
		await Promise.all(answers);
		const { items } = await stage.held.api('GET', '/api/v1/requests?status=denied&limit=1');
		assert.equal(items[0].decisions[0].note, 'a note with a, d and e');
	},

	async 'a press right after the page moved on decides nothing'(stage) {
		if (stage.phone) return;
		stage.held.begin([push], around);
		stage.held.begin([edit], around);
		const page = await stage.open();
		await page.locator('.row').nth(1).waitFor();
		await page.locator('#main button.approve').waitFor();
		await stage.settled(page);
		await page.evaluate(() => new Promise((resolve) => {
			const press = () => document.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
			const from = document.querySelector('#main .call').id;
			new MutationObserver((_, observer) => { // the page has moved on
				if (!document.querySelector(`#main .call:not([id="${from}"]) button.approve`)) return;
				observer.disconnect();
				resolve(press());
			}).observe(document.querySelector('#main'), { childList: true, subtree: true });
			press();
		}));
		await page.waitForFunction(() => document.querySelectorAll('.row').length === 1);
		await page.waitForTimeout(300); // for what must not happen
		assert.equal((await stage.held.pending()).length, 1);
	},
});
