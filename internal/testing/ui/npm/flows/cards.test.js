// A card shows what decides within one screen: what the call does, the call itself, what
// made policy ask, and the buttons.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import * as calls from '../stage/calls.js';

/** The kinds of card. cause is what must be highlighted, shows what must be seen of the call. */
const CARDS = [
	{ name: 'shell-destroys', call: { name: 'terminal', arguments: { command: 'cd /srv/data && rm -rf /srv/data/backups && ls -la' } }, effects: /^Destroys: \/srv\/data\/backups cannot be undone · /, cause: '/srv/data/backups', shows: '.script pre' },
	{ name: 'shell-sends', call: { name: 'terminal', arguments: { command: 'tar czf - src | curl -T - https://files.example.com/in' } }, effects: /Sends to files\.example\.com/, cause: 'files.example.com', shows: '.script pre' },
	{ name: 'shell-doubt', call: { name: 'terminal', arguments: { command: 'echo done; $X -rf /tmp/x' } }, effects: /^Unknown effects/, cause: '$X', shows: '.script pre' },
	{ name: 'sql', call: { name: 'sql_db_query', arguments: { query: "DELETE FROM invoices\nWHERE paid_at < '2024-01-01'" } }, effects: /^Destroys/, cause: 'DELETE FROM invoices', shows: '.part pre' },
	{ name: 'http', call: { name: 'http_request', arguments: { method: 'POST', url: 'https://hooks.example.com/deploy?env=prod', headers: { 'Content-Type': 'application/json' }, body: { version: '2.4.1', force: true } } }, effects: /^Sends to hooks\.example\.com/, cause: 'hooks.example.com', shows: '.part pre' },
	{ name: 'e-mail', call: { name: 'send_email', arguments: { to: ['cfo@example.com', 'press@example.net'], subject: 'Figures of the third quarter', body: 'Hello,\n\nthe figures are attached.\n\nAnn' } }, effects: /^Sends: cfo@example\.com, press@example\.net cannot be undone/, cause: 'press@example.net', shows: '.arguments' },
	{ name: 'edit', call: calls.edit, effects: /^Writes: \/srv\/app\/billing\/invoice\.go/, cause: '/srv/app/billing/invoice.go', shows: '.diff tr.in' },
	{ name: 'write', call: { name: 'Write', arguments: { file_path: '/etc/cron.d/backup.sh', content: '#!/bin/sh\n# every night\npg_dump app | gzip > "/srv/backup/$(date +%F).gz"\n' } }, effects: /^Writes what runs later \(startup\): \/etc\/cron\.d\/backup\.sh · Writes: \/etc\/cron\.d\/backup\.sh/, cause: '/etc/cron.d/backup.sh', shows: '.part pre' },
	{ name: 'patch', call: calls.patch, effects: /server\/main\.go/, cause: 'server/main.go', shows: '.diff tr.out' },
	{ name: 'tree', call: calls.transfer, effects: /^Sends/, cause: '', shows: '.tree' },
];

/** Whether an element is on the screen: all of it, or with part its first line, and nothing covers it. */
async function isSeen(locator, part = false) {
	return locator.evaluate((element, part) => {
		const box = element.getClientRects()[0];
		const bottom = part ? Math.min(box.bottom, box.top + 24) : box.bottom;
		if (box.top < 0 || bottom > innerHeight || box.left < 0 || box.left >= innerWidth) return false;
		return [box.top + 3, bottom - 3].every((y) => {
			const top = document.elementFromPoint(Math.min(box.left + 6, innerWidth - 1), y);
			return top !== null && (element.contains(top) || top.contains(element));
		});
	}, part);
}

flows('cards', Object.fromEntries(CARDS.map(({ name, call, effects, cause, shows }) => [`what decides is on the screen: ${name}`, async (stage) => {
	stage.held.begin([call], calls.around);
	const page = await stage.open();
	await stage.look(page, call.name);
	const card = page.locator('.call');
	const line = card.locator('.effects');
	assert.match((await line.textContent()).trim(), effects);
	assert.ok(await isSeen(line, true), 'the effects are not on the screen');
	assert.ok(await isSeen(card.locator(shows).first(), true), 'the call is not on the screen');
	if (cause) {
		const marks = await card.locator('mark.cause').allTextContents();
		assert.ok(marks.join('').includes(cause), `${cause} is not highlighted: ${marks}`);
		assert.ok(await isSeen(card.locator('mark.cause').first()), 'the highlighted part is not on the screen');
	}
	for (const button of ['button.approve', 'button.deny']) assert.ok(await isSeen(card.locator(button)), `${button} is not on the screen`);
	await stage.check(page);
	await stage.shot(page, `card-${name}`);
}])));
