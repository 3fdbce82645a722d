// What the list costs the page with 1,000 and 5,000 pending requests: the work of its thread, not the time of a machine that
// has much else to do. The requests are put into the page's store, so that heldcall has no part in the figures.

import { chromium } from 'playwright-core';
import { startHeldcall } from '../stage/heldcall.js';

const held = await startHeldcall();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] });
try {
	held.begin([{ name: 'bash', arguments: { command: 'git log -1' } }]);
	for (const n of [1000, 5000]) {
		const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
		await page.goto(held.console);
		await page.locator('.row').waitFor();
		await page.route('**/api/**', () => {}); // heldcall, which does not know the others, is not asked about them
		const work = await thread(page);
		const took = async (what, act) => {
			await act();
			await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 150)))));
			console.log(`${n}: ${what}: ${(await work()).toFixed(0)} ms`);
		};
		await took('all appear', () => put(page, 0, n));
		await page.waitForFunction((rows) => document.querySelectorAll('.row').length > rows, n - 1);
		await took('one more arrives', () => put(page, n, 1));
		await took('the next request by a key', () => page.keyboard.press('j'));
		await took('to the end of the list', () => page.locator('#rows').evaluate((rows) => { rows.scrollTop = rows.scrollHeight; }));
		await took('a filter that finds one', () => page.getByLabel('Filter the list').fill('x 17 y'));
		await took('all again', () => page.getByLabel('Filter the list').fill(''));
		const { rows, nodes, drawn } = await page.evaluate(() => ({
			rows: document.querySelectorAll('.row').length, nodes: document.querySelectorAll('#rows *').length,
			drawn: [...document.querySelectorAll('.row')].filter((row) => row.checkVisibility({ contentVisibilityAuto: true })).length,
		}));
		console.log(`${n}: ${rows} rows of ${nodes} elements, ${drawn} of them laid out`);
		if (drawn > 200) throw new Error(`${drawn} rows are laid out, most of them out of sight`);
		if (rows < n) throw new Error(`${rows} of ${n} requests are in the list`);
		await page.close();
	}
} finally {
	await browser.close();
	await held.stop();
}

/** Puts requests into the store of the page, each of a run of its own. */
function put(page, from, n) {
	return page.evaluate(async ([from, n]) => {
		const store = await import('/inbox/store.js');
		const [known] = store.state.requests.values();
		store.put(Array.from({ length: n }, (_, i) => ({ ...known, id: `z${String(from + i).padStart(6, '0')}`, run_id: `r${from + i}`, turn_id: `t${from + i}`, expires_at: new Date(Date.now() + 3_600_000).toISOString(), args_preview: `git log x ${from + i} y` })));
	}, [from, n]);
}

/** The function that it returns gives the milliseconds of work of the page's thread since the last call. */
async function thread(page) {
	const session = await page.context().newCDPSession(page);
	await session.send('Performance.enable', { timeDomain: 'threadTicks' });
	const read = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
	let before = await read();
	return async () => {
		const now = await read();
		const spent = now - before;
		before = now;
		return spent;
	};
}
