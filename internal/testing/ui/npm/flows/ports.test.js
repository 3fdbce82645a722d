// Pages of other sites in a real browser, against the port of agents and that of the console. The names of the
// sites are bound to loopback, as those of an attacker can be.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { startHeldcall } from '../stage/heldcall.js';

const LIMIT = 300_000;
const REQUEST = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] });

describe('pages of other sites', () => {
	let site, port, held, browser, page;
	before(async () => {
		site = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>A site</title>'));
		await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
		port = site.address().port;
		held = await startHeldcall({ proxy: `  origins: ["http://app.example:${port}"]` });
		browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP *.example 127.0.0.1'] });
		page = await browser.newPage();
	});
	after(async () => {
		await browser?.close();
		await held?.stop();
		site.close();
	});

	/** What a page gets that sends a request. */
	const ask = (url, init = {}) => page.evaluate(async ([url, init]) => {
		try {
			const response = await fetch(url, init);
			return { status: response.status, turn: response.headers.get('X-Heldcall-Turn'), body: await response.text() };
		} catch (error) {
			return { failed: String(error) };
		}
	}, [url, init]);

	/** How many requests heldcall has counted in lines of its metrics that begin so. */
	const counted = async (name) => (await (await fetch(`${held.console}/metrics`)).text()).split('\n').filter((line) => line.startsWith(name)).reduce((sum, line) => sum + Number(line.split(' ').pop()), 0);
	const refused = (code) => counted(`heldcall_refused_requests_total{code="${code}"}`);
	const chat = () => counted('heldcall_requests_total{route="chat');
	const json = { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: 'Bearer sk-page' }, body: REQUEST };

	test('a page of another site uses neither port', { timeout: LIMIT }, async () => {
		await page.goto(`http://evil.example:${port}/`);
		const url = `${held.proxy}/v1/chat/completions`;
		let expected = 0;
		for (const init of [{ method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: REQUEST, mode: 'no-cors' }, { method: 'POST', body: REQUEST }, json, { mode: 'no-cors' }]) {
			const got = await ask(url, init);
			assert.ok(got.failed || got.status === 0, `the page reads ${JSON.stringify(got)}`);
			assert.equal(await refused('foreign_origin'), ++expected, JSON.stringify(init));
		}
		await page.setContent(`<form method=post enctype=text/plain action="${url}"><input name='{"model":"m","messages":[],"x":"' value='"}'></form>`);
		await Promise.all([page.waitForURL(url), page.evaluate(() => document.forms[0].submit())]);
		assert.match(await page.content(), /foreign_origin/);
		assert.equal(await chat(), 0);
		await page.goto(`http://evil.example:${port}/`);
		const got = await ask(`${held.console}/api/v1/requests/01A/decision`, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: '{"action":"approve"}' });
		assert.ok(got.failed, JSON.stringify(got));
	});

	test('a name that is bound to loopback reaches neither port', { timeout: LIMIT }, async () => {
		for (const [address, path] of [[held.proxy, '/v1/models'], [held.console, '/api/v1/requests'], [held.console, '/']]) {
			const response = await page.goto(address.replace('127.0.0.1', 'evil.example') + path);
			assert.equal(response.status(), 403);
			assert.match(await response.text(), /foreign_host/);
		}
	});

	test('a page of a configured origin uses the model', { timeout: LIMIT }, async () => {
		await page.goto(`http://app.example:${port}/`);
		const got = await ask(`${held.proxy}/v1/chat/completions`, json);
		assert.equal(got.status, 200, JSON.stringify(got));
		assert.match(got.body, /Understood/);
		assert.ok(got.turn, 'the page does not read the headers of the answer');
		assert.equal(await chat(), 1);
	});
});
