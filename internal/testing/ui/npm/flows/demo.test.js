// What the README says first: `make run`, then answer at the address that it prints.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { flows } from '../stage/browser.js';

/** Starts the demo; says waits until its terminal shows something. */
function startDemo() {
	const demo = spawn(process.env.HELDCALL, ['demo'], { stdio: ['pipe', 'pipe', 'inherit'] });
	let screen = '';
	const watchers = new Set();
	demo.stdout.on('data', (text) => {
		screen += text;
		for (const look of watchers) look();
	});
	const ended = new Promise((resolve) => demo.once('exit', resolve));
	return {
		says: (pattern) => new Promise((resolve) => {
			const look = () => {
				const found = pattern.exec(screen);
				if (!found) return;
				watchers.delete(look);
				resolve(found);
			};
			watchers.add(look);
			look();
		}),
		stop: () => {
			demo.kill('SIGTERM');
			return ended;
		},
	};
}

flows('the demo', {
	async 'its first request is answered in the browser'(stage) {
		const demo = startDemo();
		try {
			const [, address] = await demo.says(/Answer in a browser:\n\s+(http\S+)/);
			const page = await stage.open(address, { elsewhere: true });
			await page.getByRole('heading', { name: 'wants to run a command' }).waitFor();
			await stage.check(page);
			await stage.shot(page, 'demo');
			await page.locator('button.approve').click();
			await page.getByText('Approved: run_command').waitFor();
			await demo.says(/approve by local over rest/);
		} finally {
			assert.equal(await demo.stop(), 0);
		}
	},
});
