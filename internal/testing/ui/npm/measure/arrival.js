// How long it takes from the moment heldcall asks until the question is on the
// page, while a thousand others wait and fifty come each second. The figures are
// for a machine with nothing else to do; what fails is a request that is missed.

import { chromium } from 'playwright-core';
import { startHeldcall } from '../stage/heldcall.js';

const WAITING = 1000;
const A_SECOND = 50;
const SECONDS = 10;

const held = await startHeldcall();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] });
try {
	const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
	await page.addInitScript(watch);
	await page.goto(held.console);
	await begin(WAITING, 200);
	await page.waitForFunction((n) => document.querySelectorAll('.row').length >= n, WAITING, { timeout: 120_000 });
	const reload = Date.now();
	await page.reload();
	await page.waitForFunction((n) => document.querySelectorAll('.row').length >= n, WAITING, { timeout: 60_000 });
	console.log(`${WAITING} wait; a reload shows all of them after ${Date.now() - reload} ms`);

	const before = new Set((await page.evaluate(() => [...globalThis.seen.keys()])));
	const busy = await thread(page);
	const plain = follow(before);
	const keys = press(page);
	await begin(A_SECOND * SECONDS, A_SECOND);
	await page.waitForFunction((n) => document.querySelectorAll('.row').length >= n, WAITING + A_SECOND * SECONDS, { timeout: 120_000 });
	const spent = await busy();
	const seen = new Map(await page.evaluate(() => [...globalThis.seen]));
	const asked = new Map();
	let cursor = '';
	do {
		const list = await held.api('GET', `/api/v1/requests?status=pending&limit=500&cursor=${cursor}`);
		for (const request of list.items) asked.set(request.id, Date.parse(request.created_at));
		cursor = list.next_cursor;
	} while (cursor);
	report('until a plain reader of the event stream has it', [...(await plain)].map(([id, at]) => at - asked.get(id)));
	const delays = [...seen].filter(([id]) => !before.has(id)).map(([id, at]) => at - asked.get(id));
	report(`from the question to the page, ${A_SECOND} a second`, delays);
	report('from a key to the next request', await keys);
	console.log(`the page's thread works ${Object.entries(spent).map(([what, ms]) => `${(ms / delays.length).toFixed(1)} ms (${what})`).join(', ')} a request`);
	if (delays.length < A_SECOND * SECONDS) throw new Error(`${delays.length} of ${A_SECOND * SECONDS} requests were seen`);
} finally {
	await browser.close();
	await held.stop();
}

/** Notes in the page when a row appears. */
function watch() {
	globalThis.seen = new Map();
	const note = (element) => {
		if (element.dataset?.id && !globalThis.seen.has(element.dataset.id)) globalThis.seen.set(element.dataset.id, Date.now());
	};
	new MutationObserver((changes) => {
		for (const change of changes) for (const added of change.addedNodes) if (added.nodeType === 1) {
			note(added);
			for (const row of added.querySelectorAll('.row')) note(row);
		}
	}).observe(document, { childList: true, subtree: true });
}

/** Has heldcall hold n calls, so many a second. */
async function begin(n, aSecond) {
	const from = Date.now();
	for (let i = 0; i < n; i++) {
		held.begin([{ name: 'bash', arguments: { command: `git log -1 ${'x'.repeat(i % 50)} ${i}` } }], { session: `s${n}-${i}`, user: `Task ${i} of ${n}` });
		const due = from + ((i + 1) * 1000) / aSecond;
		if (due > Date.now()) await new Promise((resolve) => setTimeout(resolve, due - Date.now()));
	}
}

/** Counts what the page's main thread works from now on; the function it returns says how many milliseconds. */
async function thread(page) {
	const session = await page.context().newCDPSession(page);
	await session.send('Performance.enable', { timeDomain: 'threadTicks' }); // of the thread, not of the clock: a busy machine changes little
	const read = async () => new Map((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value * 1000]));
	const before = await read();
	return async () => {
		const after = await read();
		const of = (name) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
		return { all: of('TaskDuration'), script: of('ScriptDuration'), layout: of('LayoutDuration'), style: of('RecalcStyleDuration') };
	};
}

/** Presses j for as long as requests come, and returns how long each press took to show another request. */
async function press(page) {
	const delays = [];
	for (const end = Date.now() + SECONDS * 1000; Date.now() < end;) {
		delays.push(await page.evaluate(() => new Promise((resolve) => {
			const before = location.hash;
			const from = performance.now();
			document.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));
			const look = () => {
				if (location.hash !== before && document.querySelector(`[id="call-${location.hash.split('/').pop()}"]`)) resolve(performance.now() - from);
				else if (performance.now() - from > 5000) resolve(5000);
				else setTimeout(look, 1);
			};
			look();
		})));
		await page.waitForTimeout(400);
	}
	return delays;
}

/**
 * Reads the event stream as a program does, and notes when each request was told of that was not there before: what the
 * page can be at best. It reads from the first event on, so that it misses none while the stream begins.
 */
async function follow(before) {
	const told = new Map();
	const leave = new AbortController();
	const response = await fetch(`${held.console}/api/v1/events`, { signal: leave.signal, headers: { 'Last-Event-ID': '0' } });
	let rest = '';
	for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
		const lines = (rest + piece).split('\n');
		rest = lines.pop();
		for (const line of lines) {
			const event = line.startsWith('data: ') ? JSON.parse(line.slice(6)) : {};
			if (event.type === 'approval_required' && !before.has(event.request_id)) told.set(event.request_id, Date.now());
		}
		if (told.size >= A_SECOND * SECONDS) break;
	}
	leave.abort();
	return told;
}

/** Prints the spread of delays. */
function report(what, delays) {
	delays.sort((a, b) => a - b);
	const at = (share) => Math.round(delays[Math.min(delays.length - 1, Math.floor(delays.length * share))]);
	console.log(`${what}: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms (${delays.length})`);
}
