// The panels of questions and of results with nothing but the keyboard.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';

const bash = { type: 'function', function: { name: 'bash', parameters: { type: 'object' } } };

const options = [{ id: 'eu', label: 'Frankfurt' }, { id: 'us', label: 'Ohio' }, { id: 'ap', label: 'Osaka' }];

/** Has the model ask, and opens the request without the mouse. */
async function ask(stage, name, args) {
	const answer = stage.held.hold([{ name, arguments: args }], { user: 'Release it.', text: 'One moment.', tools: [bash] });
	return { answer, ...await read(stage, name) };
}

/** Has the agent report a result that people are asked about, and opens the request. */
async function judge(stage, text) {
	const call = { role: 'assistant', content: null, tool_calls: [{ id: 'call_read', type: 'function', function: { name: 'read_page', arguments: '{}' } }] };
	const answer = stage.held.report({ tool_call_id: 'call_read', session_id: stage.held.session }, `review this result: ${text}`, 'I have read it.', [call]);
	return { answer, ...await read(stage, 'read_page') };
}

async function read(stage, tool) {
	const [request] = await stage.asked(tool);
	const page = await stage.open(`/#/requests/${request.id}`);
	await page.locator(`#main [id="call-${request.id}"]`).waitFor();
	await stage.settled(page);
	return { page, id: request.id };
}

/** The decision that heldcall has, once the agent has the model's answer. */
async function decided(stage, { answer, id }, text) {
	assert.match((await answer).choices[0].message.content, text);
	const { status, decisions: [decision] } = await stage.held.api('GET', `/api/v1/requests/${id}`);
	return { status, decision };
}

/** What is wrong with how the focus is shown, or ''. */
const fault = (page) => page.evaluate(() => {
	const focus = document.activeElement;
	const named = (one) => one?.cloneNode().outerHTML;
	const { outlineStyle, outlineWidth } = getComputedStyle(focus);
	const [box] = focus.getClientRects();
	const hit = box && document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
	if (!focus.matches(':focus-visible') || outlineStyle === 'none' || parseFloat(outlineWidth) < 2) return `no outline: ${named(focus)}`;
	return hit && focus.contains(hit) ? '' : `${named(focus)} is out of sight or under ${named(hit)}`;
});

/** Fails unless this control has the focus, in sight. */
async function focused(page, control) {
	const other = await control.evaluate((one) => (one === document.activeElement ? '' : document.activeElement.cloneNode().outerHTML));
	assert.equal(other, '', 'another control has the focus');
	assert.equal(await fault(page), '');
}

/** Fails unless a press of the key takes the focus to this control. */
async function press(page, key, control) {
	await page.keyboard.press(key);
	await focused(page, control);
}

/** Presses Tab from the top of the page on until this control has the focus; each control on the way is in sight. */
async function reach(page, control) {
	for (let presses = 0; presses < 60; presses++) {
		await page.keyboard.press('Tab');
		assert.equal(await fault(page), '');
		if (await control.evaluate((one) => one === document.activeElement)) return;
	}
	assert.fail('the control cannot be reached');
}

const button = (page, name) => page.locator('.call').getByRole('button', { name, exact: true });
const send = (page) => button(page, 'Answer');
const states = (boxes) => boxes.evaluateAll((all) => all.map((box) => (box.disabled ? 'disabled' : box.checked)));

flows('panels with the keyboard', {
	async 'a clarification is answered in words'(stage) {
		const { page, ...asked } = await ask(stage, 'request_clarification', { question: 'Where to?', options });
		await reach(page, page.getByRole('radio').first());
		await press(page, 'Tab', page.getByLabel('Or answer in your own words'));
		await page.keyboard.type('a, d and e');
		await page.keyboard.press('Enter');
		await page.keyboard.type('but not ?');
		await press(page, 'Tab', send(page));
		await press(page, 'Tab', button(page, 'Decline…'));
		await press(page, 'Shift+Tab', send(page));
		await stage.check(page);
		assert.equal((await stage.held.pending()).length, 1, 'nothing is sent yet');
		await page.keyboard.press('Enter');
		const { status, decision } = await decided(stage, asked, /Understood\.$/);
		assert.deepEqual([status, decision.answer, decision.selected], ['answered', 'a, d and e\nbut not ?', undefined]);
	},

	async 'a clarification is answered with an option'(stage) {
		const { page, ...asked } = await ask(stage, 'request_clarification', { question: 'Where to?', options });
		const radios = page.getByRole('radio');
		await reach(page, radios.first());
		await press(page, 'Space', radios.first());
		await press(page, 'ArrowDown', radios.nth(1));
		assert.deepEqual(await states(radios), [false, true, false]);
		await press(page, 'Tab', page.getByLabel('Or answer in your own words'));
		await press(page, 'Tab', send(page));
		await page.keyboard.press('Space');
		const { status, decision } = await decided(stage, asked, /Understood\.$/);
		assert.deepEqual([status, decision.answer, decision.selected], ['answered', undefined, ['us']]);
	},

	async 'options are selected up to the bound'(stage) {
		const { page, ...asked } = await ask(stage, 'request_decision', { question: 'Which regions?', type: 'multi_choice', max_selections: 2, options });
		const boxes = page.locator('.option').getByRole('checkbox');
		await reach(page, boxes.nth(0));
		await press(page, 'Space', boxes.nth(0));
		await press(page, 'Tab', boxes.nth(1));
		await press(page, 'Tab', boxes.nth(2));
		await press(page, 'Space', boxes.nth(2));
		assert.deepEqual(await states(boxes), [true, 'disabled', true], 'the bound is reached');
		await stage.check(page);
		await press(page, 'Shift+Tab', boxes.nth(0));
		await press(page, 'Space', boxes.nth(0));
		await press(page, 'Tab', boxes.nth(1));
		await press(page, 'Space', boxes.nth(1));
		assert.deepEqual(await states(boxes), ['disabled', true, true]);
		await press(page, 'Tab', boxes.nth(2));
		await press(page, 'Tab', send(page));
		await page.keyboard.press('Enter');
		const { status, decision } = await decided(stage, asked, /Understood\.$/);
		assert.deepEqual([status, decision.selected], ['answered', ['ap', 'us']]);
	},

	async 'several questions are answered, and a refused answer is corrected'(stage) {
		const { page, ...asked } = await ask(stage, 'request_input', { questions: [
			{ id: 'where', kind: 'decision', question: 'Where to?', options },
			{ id: 'why', kind: 'clarification', question: 'Why now?' },
			{ id: 'values', kind: 'env_var', message: 'Which server?', fields: [{ name: 'HOST', required: true, secret: false, pattern: '[a-z.]+' }, { name: 'PORT', secret: false }] },
		] });
		const [why, host, port] = [page.getByLabel('Your answer'), page.getByRole('textbox', { name: 'HOST' }), page.getByRole('textbox', { name: 'PORT' })];
		const paste = (name) => page.getByRole('button', { name: `Paste the value of ${name}` });
		await reach(page, page.getByRole('radio').first());
		await press(page, 'Space', page.getByRole('radio').first());
		await press(page, 'Tab', why);
		await page.keyboard.type('It is Monday.');
		await press(page, 'Tab', host);
		await page.keyboard.type('DB');
		await press(page, 'Tab', paste('HOST'));
		await press(page, 'Tab', port);
		await page.keyboard.type('443');
		await press(page, 'Tab', paste('PORT'));
		await press(page, 'Tab', send(page));
		await page.keyboard.press('Enter');
		await page.getByRole('alert').getByText('does not match the pattern').waitFor();
		await focused(page, send(page));
		await stage.check(page);
		for (const before of [paste('PORT'), port, paste('HOST'), host]) await press(page, 'Shift+Tab', before);
		await page.keyboard.press('ControlOrMeta+a');
		await page.keyboard.type('db.example');
		await page.keyboard.press('Enter');
		const { status, decision } = await decided(stage, asked, /Understood\.$/);
		assert.equal(status, 'answered');
		assert.deepEqual(decision.responses, { where: { selected: ['eu'] }, why: { answer: 'It is Monday.' }, values: { values: { HOST: 'db.example', PORT: '443' } } });
	},

	async 'a result is approved'(stage) {
		const { page, ...judged } = await judge(stage, 'fine');
		await reach(page, button(page, 'Approve'));
		await press(page, 'Tab', button(page, 'Deny…'));
		await press(page, 'Tab', page.locator('.more > summary'));
		await press(page, 'Shift+Tab', button(page, 'Deny…'));
		await press(page, 'Shift+Tab', button(page, 'Approve'));
		await page.keyboard.press('Space');
		const { status, decision } = await decided(stage, judged, /^I have read it\.$/);
		assert.deepEqual([status, decision.action], ['approved', 'approve']);
	},

	async 'a result is denied with a note'(stage) {
		const { page, ...judged } = await judge(stage, 'rude');
		const note = page.getByLabel('Reason (sent to the model)');
		await reach(page, button(page, 'Deny…'));
		await press(page, 'Enter', note);
		await page.keyboard.press('Escape');
		await note.waitFor({ state: 'detached' });
		await press(page, 'd', note);
		await page.keyboard.type('a, d and e');
		await press(page, 'Tab', button(page, 'Deny'));
		await press(page, 'Tab', button(page, 'Cancel'));
		await press(page, 'Shift+Tab', button(page, 'Deny'));
		await stage.check(page);
		await page.keyboard.press('Enter');
		const { status, decision } = await decided(stage, judged, /^I have read it\.$/);
		assert.deepEqual([status, decision.action, decision.note], ['denied', 'deny', 'a, d and e']);
	},

	async 'a result is edited'(stage) {
		const { page, ...judged } = await judge(stage, 'long');
		const text = page.locator('.call form textarea');
		await reach(page, page.locator('.more > summary'));
		await page.keyboard.press('Enter');
		await press(page, 'Tab', button(page, 'Edit…'));
		await press(page, 'Enter', text);
		await press(page, 'Tab', button(page, 'Cancel')); // nothing is changed yet
		await press(page, 'Shift+Tab', text);
		await page.keyboard.press('ControlOrMeta+a');
		await page.keyboard.type('Nothing to see.');
		await press(page, 'Tab', button(page, 'Approve with changes'));
		await stage.check(page);
		await page.keyboard.press('Enter');
		const { status, decision } = await decided(stage, judged, /^I have read it\.$/);
		assert.deepEqual([status, decision.action, decision.modified_args], ['approved', 'modify_args', 'Nothing to see.']);
	},
});
