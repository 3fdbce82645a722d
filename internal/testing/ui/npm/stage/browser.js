// Chromium with the inbox in it, at the width of a desk and of a phone.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { startHeldcall } from './heldcall.js';

const { CHROMIUM, HEADLESS_SHELL, PART, SHOTS } = process.env;

// Bounds of what must happen, on a machine that has much else to do. Nothing is timed with them.
const PATIENCE = 60_000; // one step
const LIMIT = 300_000; // one flow

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const SIZES = {
	desk: { viewport: { width: 1280, height: 800 } },
	phone: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
};

/** Of the flows of a file, the one with this index is played at this size: on a desk each, and on a phone, of N parts, each Nth. */
function plays(index, size) {
	const [part, parts] = PART.split('/').map(Number);
	return size === 'desk' || index % parts === part - 1;
}

/**
 * Runs flows in a file's own heldcall and browser, each at both sizes, but for those that are in another part. A flow
 * gets what it works with and fails on any error that the page logs.
 * @param {string} title
 * @param {Record<string, (stage: Stage) => Promise<void>>} flows
 * @param {Parameters<typeof startHeldcall>[0] & {push?: boolean}} [options] push takes the whole browser: its headless
 * shell, which needs half the time of the processor, has no notifications
 */
export function flows(title, flows, options) {
	describe(title, () => {
		let browser;
		let held;
		before(async () => {
			held = await startHeldcall(options);
			browser = await chromium.launch({
				executablePath: options?.push ? CHROMIUM : HEADLESS_SHELL,
				args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
			});
		});
		after(async () => {
			await browser?.close();
			await held?.stop();
		});
		afterEach(async () => {
			await held.start(); // where a flow failed before it did
			await held.clear();
		});
		for (const [index, [name, flow]] of Object.entries(flows).entries()) {
			for (const size of Object.keys(SIZES).filter((size) => plays(index, size))) {
				test(`${name} (${size})`, { timeout: LIMIT }, async () => {
					const stage = new Stage(held, browser, size);
					try {
						await flow(stage);
						assert.deepEqual(stage.errors, [], 'the page logged errors');
					} finally {
						await stage.close();
					}
				});
			}
		}
	});
}

/** For the option before: the page has a clock that can be stopped, since what it does after some seconds may come before the next step of a flow. */
export const withClock = (context) => context.clock.install();

/** Moves the clock of a page ten seconds on and stops it there: a time in the past is an error. page.clock.runFor and page.clock.resume start it again. */
export const stopClock = async (page) => page.clock.pauseAt(await page.evaluate(() => Date.now()) + 10_000);

/** Lets so much time of a stopped clock pass that the page shows this. */
export async function ticksUntil(page, locator) {
	while (!await locator.first().isVisible()) await page.clock.runFor(100);
}

/** Lets time of a stopped clock pass while this lasts that waits in the page, as axe does. */
export async function ticksWhile(page, work) {
	let works = true;
	const ended = work.finally(() => { works = false; });
	while (works) await page.clock.runFor(1);
	await ended;
}

let sessions = 0;

export class Stage {
	/** Errors that pages logged, but for those that a flow expects. */
	errors = [];
	contexts = [];

	constructor(held, browser, size) {
		Object.assign(this, { held, browser, size });
		this.phone = size === 'phone';
		held.session = `session-${++sessions}`; // what was denied in another is asked about again
	}

	/** Opens the inbox as one more person, who need not be let in. worker lets the page have its service worker, elsewhere is the inbox of another heldcall. */
	async open(address = '/', { outside = false, elsewhere = false, worker = false, before = async () => {} } = {}) {
		const context = await this.browser.newContext({ ...SIZES[this.size], reducedMotion: 'reduce', serviceWorkers: worker ? 'allow' : 'block' });
		this.contexts.push(context);
		await before(context);
		const page = await context.newPage();
		page.on('pageerror', (error) => this.errors.push(String(error)));
		page.on('console', (message) => {
			if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text())) this.errors.push(message.text());
		});
		page.setDefaultTimeout(PATIENCE);
		await page.goto(elsewhere ? address : this.held.console + address);
		if (!outside) await page.locator('#connection.live').waitFor({ state: 'attached' });
		return page;
	}

	/** Looks at the request with this text in its row, until it can be decided. */
	async look(page, text) {
		const row = page.locator('.row', { hasText: text });
		const id = await row.getAttribute('data-id');
		await row.locator('a').click();
		await page.locator(`#main [id="call-${id}"]`).waitFor();
		await this.settled(page);
	}

	/** Waits until the page heeds a press again: for a moment after calls have moved it does not. */
	async settled(page) {
		await page.locator('#main:not([data-moved])').waitFor({ state: 'attached' });
	}

	/** Presses a button of the menu of a card, the first one with it where there are several. */
	async pressMore(page, name) {
		const card = page.locator('.call', { has: page.locator('.more') }).first();
		if (!await card.locator('.more[open]').count()) await card.locator('.more > summary').click();
		await card.getByRole('button', { name }).click();
	}

	/** Waits until this tool is asked about, and returns the requests. */
	async asked(tool) {
		for (;;) {
			const requests = (await this.held.pending()).filter((request) => request.tool_name === tool);
			if (requests.length > 0) return requests;
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
	}

	/** Fails on any serious fault that axe finds, on low contrast in the dark theme too, and on a page that is wider than the screen. */
	async check(page) {
		await page.evaluate(AXE);
		await this.axe(page, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']);
		await page.emulateMedia({ colorScheme: 'dark' });
		await page.evaluate(() => { for (const animation of document.getAnimations()) animation.finish(); });
		await this.axe(page, ['color-contrast']);
		await page.emulateMedia({ colorScheme: null });
		const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
		assert.ok(over <= 0, `the page is ${over} px wider than the screen`);
	}

	/** Fails on any serious fault that these rules of axe find in the page as it is. */
	async axe(page, runOnly) {
		const { violations } = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly }), runOnly);
		const serious = violations.filter((violation) => ['serious', 'critical'].includes(violation.impact));
		assert.deepEqual(serious.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.html).join(' | ')}`), []);
	}

	/** Keeps a picture, in light and dark, where pictures are asked for. */
	async shot(page, name) {
		if (!SHOTS) return;
		for (const colorScheme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme });
			await page.screenshot({ path: join(SHOTS, `${name}-${this.size}-${colorScheme}.png`) });
		}
		await page.emulateMedia({ colorScheme: null });
	}

	async close() {
		for (const context of this.contexts) await context.close();
	}
}
