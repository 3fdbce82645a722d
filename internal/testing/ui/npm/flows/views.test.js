// The views of the list: all, the questions, and the filters that are kept under a name.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import * as calls from '../stage/calls.js';

/** The agent has a tool of its own, so that heldcall offers its tools beside it. */
const agent = { tools: [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }] };

const view = (page, name) => page.getByRole('group', { name: 'Views' }).getByRole('button', { name, exact: true });

async function waiting(stage, page) {
	stage.held.begin([calls.push]);
	stage.held.begin([calls.edit]);
	stage.held.begin([{ name: 'request_clarification', arguments: { question: 'How many replicas?' } }], agent);
	await page.locator('.row').nth(2).waitFor();
}

flows('views', {
	async 'the questions have a view of their own'(stage) {
		const page = await stage.open();
		await waiting(stage, page);
		await view(page, 'Questions 1').click();
		await page.locator('.row').nth(1).waitFor({ state: 'detached' });
		assert.deepEqual(await page.locator('.row .title').allInnerTexts(), ['How many replicas?']);
		await page.locator('.list .count', { hasText: '1 of 3' }).waitFor();
		assert.equal(await view(page, 'Questions 1').getAttribute('aria-pressed'), 'true');
		if (!stage.phone) await page.locator('.call', { hasText: 'How many replicas?' }).waitFor(); // what is not listed is not looked at
		await stage.check(page);
		await stage.shot(page, 'view-questions');
		stage.held.begin([{ name: 'odd_tool', arguments: {} }]);
		await stage.asked('odd_tool');
		await page.locator('.list .count', { hasText: '1 of 4' }).waitFor();
		if (stage.phone) await page.goto(`${stage.held.console}/#/`);
		await view(page, 'All').click();
		await page.locator('.row').nth(3).waitFor();
	},

	async 'a filter is kept under a name'(stage) {
		const page = await stage.open();
		await waiting(stage, page);
		assert.equal(await view(page, 'Save view…').count(), 0, 'there is nothing to keep');
		await page.getByLabel('Filter the list').fill('invoice');
		await page.locator('.row').nth(1).waitFor({ state: 'detached' });
		await view(page, 'Save view…').click();
		await page.keyboard.press('Escape');
		await view(page, 'Save view…').click();
		await page.keyboard.type('Invoices <b>');
		await stage.check(page);
		await page.keyboard.press('Enter');
		await view(page, 'Invoices <b>').waitFor();
		assert.ok(await view(page, 'Invoices <b>').evaluate((one) => one === document.activeElement), 'the focus is on the view');
		await stage.check(page);
		await stage.shot(page, 'view-kept');
		await view(page, 'All').click();
		await page.locator('.row').nth(2).waitFor();
		assert.equal(await page.getByLabel('Filter the list').inputValue(), '');

		await page.goto(`${stage.held.console}/#/`);
		await page.reload();
		await page.locator('.row').nth(2).waitFor();
		await view(page, 'Invoices <b>').click();
		await page.locator('.row').nth(1).waitFor({ state: 'detached' });
		assert.deepEqual(await page.locator('.row .tool').allInnerTexts(), ['Edit']);
		assert.equal(await page.getByLabel('Filter the list').inputValue(), 'invoice');
		await view(page, 'Remove the view Invoices <b>').click();
		await page.locator('.row').nth(2).waitFor();
		assert.equal(await view(page, 'Invoices <b>').count(), 0);
	},
});
