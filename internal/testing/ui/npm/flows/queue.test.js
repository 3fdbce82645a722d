// The order of the list, its filter, and what is known of a request before it is opened.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import * as calls from '../stage/calls.js';

const tools = (page) => page.locator('.row .tool').allTextContents();

flows('queue', {
	async 'what ends soon is at the top, then what has the highest risk, then the least time left'(stage) {
		stage.held.begin([{ name: 'builder', arguments: { command: 'git tag v2' } }]);
		await stage.asked('builder');
		stage.held.begin([{ name: 'odd_tool', arguments: { n: 1 } }]);
		stage.held.begin([calls.transfer]);
		const page = await stage.open();
		await page.locator('.row').nth(2).waitFor();
		assert.deepEqual((await tools(page)).slice(0, 1), ['transfer_money']);
		stage.held.begin([{ name: 'short_lived', arguments: { n: 1 } }]);
		await page.locator('.row').nth(3).waitFor();
		assert.deepEqual((await tools(page)).slice(0, 2), ['short_lived', 'transfer_money']);
		const silent = page.locator('.row', { hasText: 'git tag v2' });
		await silent.locator('.badge.silent', { hasText: 'runs if unanswered' }).waitFor();
		assert.equal(await page.locator('.row .badge.silent').count(), 1);
		await stage.check(page);
		await stage.shot(page, 'queue');
	},

	async 'the command is the name of a row, and what it does is below'(stage) {
		stage.held.begin([{ name: 'terminal', arguments: { command: 'rm -rf /srv/data' } }]);
		const page = await stage.open();
		const row = page.locator('.row', { hasText: 'rm -rf /srv/data' });
		assert.equal(await row.locator('strong').textContent(), 'rm -rf /srv/data');
		assert.equal(await row.locator('.does').textContent(), 'Destroys: /srv/data (cannot be undone)');
		assert.equal(await row.locator('.meta .tool').textContent(), 'terminal');
	},

	async 'a row of one call has two lines on 56 pixels, and a call most of a phone'(stage) {
		stage.held.begin([{ name: 'terminal', arguments: { command: `rm -rf /srv/${'data/'.repeat(30)}` } }]);
		stage.held.begin([calls.transfer], { key: 'key-of-bob' });
		stage.held.begin([{ name: 'builder', arguments: { command: 'git tag v3' } }]);
		const page = await stage.open();
		await page.locator('.row').nth(2).waitFor();
		const heights = await page.locator('.row').evaluateAll((rows) => rows.map((row) => Math.round(row.getBoundingClientRect().height)));
		assert.deepEqual(heights, [56, 56, 56]);
		await stage.shot(page, 'rows');
		await stage.look(page, 'git tag v3');
		await stage.check(page);
		await stage.shot(page, 'rows-call');
		if (!stage.phone) return;
		const { header, call, buttons } = await page.evaluate(() => {
			const box = (selector) => document.querySelector(selector).getBoundingClientRect();
			const tops = [...document.querySelectorAll('.actions button')].filter((button) => button.checkVisibility()).map((button) => Math.round(button.getBoundingClientRect().top));
			return { header: box('.top').height, call: (box('#main').height - box('.actions').height) / innerHeight, buttons: new Set(tops).size };
		});
		assert.ok(header <= 49, `the header has ${header} px`);
		assert.ok(call >= 0.7, `the call has ${call} of the height`);
		assert.equal(buttons, 1, 'rows of buttons');
	},

	async 'the filter shows what has its text, and / leads to it'(stage) {
		stage.held.begin([calls.push]);
		stage.held.begin([calls.edit]);
		stage.held.begin([calls.transfer], { key: 'key-of-bob' });
		const page = await stage.open();
		await page.locator('.row').nth(2).waitFor();
		await page.keyboard.press('/');
		await page.keyboard.type('INVOICE.go');
		await page.locator('.row').nth(1).waitFor({ state: 'detached' });
		assert.deepEqual(await tools(page), ['Edit']);
		await page.locator('.list .count', { hasText: '1 of 3' }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'filter');
		await page.keyboard.type('no such text');
		await page.getByRole('heading', { name: 'No matches' }).waitFor();
		await page.keyboard.press('Escape');
		await page.locator('.row').nth(2).waitFor();
		await page.getByLabel('Filter the list').fill('bob');
		await page.locator('.row').nth(1).waitFor({ state: 'detached' });
		assert.deepEqual(await tools(page), ['transfer_money']);
	},
});
