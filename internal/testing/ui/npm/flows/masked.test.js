// Secrets in the headers of a request are masked until somebody asks for them, and large numbers can be read.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import { transfer } from '../stage/calls.js';

flows('masked', {
	async 'a secret in a header is shown when it is asked for'(stage) {
		stage.held.begin([{ name: 'http_request', arguments: { method: 'GET', url: 'https://api.example.com/', headers: { Accept: 'text/plain', Authorization: 'Bearer sk-live-opensesame', 'X-Api-Key': 'k\u202ey' } } }]);
		const page = await stage.open();
		await stage.look(page, 'http_request');
		const card = page.locator('.call');
		await card.getByText('Bearer ••••••••').waitFor();
		await card.getByText('text/plain').waitFor();
		await card.locator('mark', { hasText: 'U+202E' }).first().waitFor(); // what cannot be seen is not masked too
		assert.ok(!(await card.innerText()).includes('opensesame'));
		await stage.check(page);
		await stage.shot(page, 'masked');
		await card.getByRole('button', { name: 'Show Authorization' }).click();
		await card.getByText('Bearer sk-live-opensesame').waitFor();
	},

	async 'a large number has its digits in groups beside it'(stage) {
		stage.held.begin([{ ...transfer, arguments: { ...transfer.arguments, year: 2026 } }]);
		const page = await stage.open();
		await stage.look(page, 'transfer_money');
		const cell = (name) => page.locator('.arguments tr', { has: page.getByRole('rowheader', { name, exact: true }) }).locator('pre').textContent();
		assert.equal(await cell('amount'), '12500.5 = 12,500.50 EUR', 'the amount has its currency');
		assert.equal(await cell('currency'), 'EUR');
		assert.equal(await cell('year'), '2026');
		await stage.held.clear();
		if (stage.phone) await page.goto(`${stage.held.console}/#/`);
		stage.held.begin([{ name: 'odd_tool', arguments: { rows: 1250000, amount: '1250', price: { amount: 1250, currency: 'JPY' }, total: { amount: '0.1', currency: 'eur' } } }]);
		await stage.look(page, 'odd_tool');
		assert.equal(await cell('rows'), '1250000 = 1,250,000');
		assert.equal(await cell('amount'), '1250', 'an amount without a currency');
		await page.locator('.tree li', { hasText: '1250 = 1,250 JPY' }).waitFor();
		assert.ok(!(await page.locator('.call').innerText()).includes('0.10'), 'a currency in small letters is no currency');
		await stage.check(page);
	},
});
