import assert from 'node:assert/strict';
import { push } from '../stage/calls.js';
import { flows } from '../stage/browser.js';
import { HOSTILE } from '../stage/hostile.js';

/** The agent has a tool of its own, so that heldcall offers its tools beside it. */
const agent = { user: 'Release it.', text: 'One moment.', tools: [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }] };

const decision = (more) => ({
	name: 'request_decision',
	arguments: {
		question: 'Which branch is released?', type: 'branch',
		options: [
			{ id: 'main', label: 'main', description: 'All of this week’s changes.', risk_level: 'high', estimated_time: '20 min', estimated_cost: '2 EUR', risks: ['A migration runs'] },
			{ id: 'stable', label: 'stable', description: 'Fixes only.', recommended: true, risk_level: 'low', estimated_time: '5 min' },
			{ id: 'none', label: 'none' },
		], ...more,
	},
});

/** What the model got, once the agent has its answer. */
async function decided(stage, answer) {
	assert.match((await answer).choices[0].message.content, /Understood\.$/, 'the model goes on, and the agent sees no question');
	assert.equal((await answer).choices[0].message.tool_calls, undefined);
	const { items: [request] } = await stage.held.api('GET', '/api/v1/requests?limit=1');
	return { request, decision: request.decisions[0] };
}

const send = (page) => page.getByRole('button', { name: 'Answer', exact: true });

flows('questions', {
	async 'a decision is made with the keyboard'(stage) {
		const answer = stage.held.hold([decision()], agent);
		const page = await stage.open();
		await stage.look(page, 'request_decision');
		await page.getByRole('heading', { name: 'claude-code asks for a decision' }).waitFor();
		assert.deepEqual(await page.locator('.call h2').allInnerTexts(), ['Which branch is released?'], 'the question is the title');
		await page.getByRole('group', { name: 'Which branch is released?' }).waitFor();
		assert.deepEqual(await page.locator('.option strong').allTextContents(), ['stable', 'main', 'none'], 'the recommended option is first');
		for (const text of ['recommended', 'Risk low', 'Risk high', 'Time 20 min', 'Cost 2 EUR', 'A migration runs', 'All of this week’s changes.']) await page.locator('.option').getByText(text).first().waitFor();
		const lefts = await page.locator('.option').evaluateAll((options) => options.map((option) => [...option.querySelectorAll('.fact')].map((fact) => Math.round(fact.getBoundingClientRect().left))));
		assert.equal(new Set(lefts[0]).size, 3, 'time, cost and risk are beside each other');
		for (const row of lefts) assert.deepEqual(row, lefts[0], 'the facts are in columns');
		await stage.check(page);
		await stage.shot(page, 'decision');
		await page.keyboard.press('a');
		assert.ok(await page.getByRole('radio').first().evaluate((radio) => radio === document.activeElement), 'a leads to the answer');
		await page.keyboard.press('Space');
		await page.keyboard.press('ArrowDown');
		assert.deepEqual(await page.getByRole('radio').evaluateAll((radios) => radios.map((radio) => radio.checked)), [false, true, false]);
		await page.keyboard.press('Enter');
		await page.getByText('Answered: Which branch is released?').waitFor();
		assert.deepEqual((await decided(stage, answer)).decision.selected, ['main']);
		await page.goto(`${stage.held.console}/#/history`);
		await page.locator('.entry', { hasText: 'request_decision' }).first().waitFor();
	},

	async 'as many options are selected as the model allows'(stage) {
		const answer = stage.held.hold([decision({ type: 'multi_choice', max_selections: 2 })], agent);
		const page = await stage.open();
		await stage.look(page, 'request_decision');
		await page.getByText('Select up to 2.').waitFor();
		const boxes = page.locator('.option').getByRole('checkbox');
		await boxes.nth(0).check();
		await boxes.nth(2).check();
		assert.ok(await boxes.nth(1).isDisabled(), 'the bound is reached');
		assert.ok(await boxes.nth(2).evaluate((box) => box === document.activeElement), 'the focus stays');
		await stage.check(page);
		await boxes.nth(0).uncheck();
		await boxes.nth(1).check();
		await send(page).click();
		await page.getByText('Answered: Which branch is released?').waitFor();
		assert.deepEqual((await decided(stage, answer)).decision.selected, ['none', 'main']);
	},

	async 'a question is answered in words, and an empty answer is refused'(stage) {
		const answer = stage.held.hold([{ name: 'request_clarification', arguments: { question: 'How many replicas?', default: 'two' } }], agent);
		const page = await stage.open();
		await stage.look(page, 'request_clarification');
		await page.getByText('If nobody answers in time: two').waitFor();
		await send(page).click();
		await page.getByRole('alert').getByText('not answered').waitFor();
		await stage.check(page);
		await stage.shot(page, 'question-refused');
		await page.getByLabel('Your answer').fill('Three, <b>one</b> per zone.');
		await send(page).click();
		await page.getByText('Answered: How many replicas?').waitFor();
		assert.equal((await decided(stage, answer)).decision.answer, 'Three, <b>one</b> per zone.');
	},

	async 'a secret is entered hidden, and is in no page'(stage) {
		const value = 'k7Qz-Lw0o81x"<b>';
		const answer = stage.held.hold([{ name: 'request_env_var', arguments: { message: 'For the upload', fields: [{ name: 'API_TOKEN', label: 'Token', required: true }] } }], agent);
		const page = await stage.open();
		await stage.look(page, 'request_env_var');
		const field = page.getByLabel('Token (required)');
		assert.equal(await field.getAttribute('type'), 'password');
		await field.fill('password');
		await send(page).click();
		await page.getByRole('alert').getByText('guess').waitFor();
		await field.fill(value);
		const hidden = async () => assert.ok(!(await page.content()).includes('k7Qz'), 'the page has the secret');
		await hidden();
		await stage.check(page);
		await stage.shot(page, 'secret');
		await page.getByRole('button', { name: 'Show the value of API_TOKEN' }).click();
		assert.equal(await field.getAttribute('type'), 'text');
		assert.equal(await field.inputValue(), value);
		await hidden();
		await page.getByLabel('Keep the secret for all sessions of this agent').check();
		await field.press('Enter');
		await page.getByText('Answered: For the upload').waitFor();
		const { decision: made } = await decided(stage, answer);
		assert.equal(made.values.API_TOKEN, 'secret://API_TOKEN');
		assert.equal(made.save, true);
		await page.goto(`${stage.held.console}/#/history`);
		await page.getByText('request_env_var').first().waitFor();
		await hidden();
	},

	async 'a secret is pasted, where the browser permits it'(stage) {
		const fields = [{ name: 'API_TOKEN', label: 'Token', required: true }, { name: 'HOST', label: 'Host', secret: false }];
		const answer = stage.held.hold([{ name: 'request_env_var', arguments: { message: 'For the upload', fields } }], agent);
		const refused = await stage.open();
		await stage.look(refused, 'request_env_var');
		await refused.context().clearPermissions();
		await refused.evaluate(() => { navigator.clipboard.readText = () => Promise.reject(new DOMException('', 'NotAllowedError')); });
		await refused.getByRole('button', { name: 'Paste the value of API_TOKEN' }).click();
		await refused.getByRole('alert').getByText('Nothing was pasted').waitFor();

		const without = await stage.open('/', { before: (context) => context.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined })) });
		await stage.look(without, 'request_env_var');
		await without.getByRole('button', { name: 'Show the value of API_TOKEN' }).waitFor();
		assert.equal(await without.getByRole('button', { name: /^Paste/ }).count(), 0);

		const page = await stage.open('/', { before: (context) => context.grantPermissions(['clipboard-read', 'clipboard-write']) });
		await stage.look(page, 'request_env_var');
		await page.evaluate(() => navigator.clipboard.writeText('v9Xk-Tr42m"<i>\n'));
		assert.equal(await page.getByRole('button', { name: /^Paste/ }).count(), 2);
		assert.equal(await page.getByRole('button', { name: /^Show the value/ }).count(), 1, 'only a secret is hidden');
		const paste = page.getByRole('button', { name: 'Paste the value of API_TOKEN' });
		await paste.focus();
		await page.keyboard.press('Enter');
		const field = page.getByLabel('Token (required)');
		await page.waitForFunction(() => document.querySelector('input[type=password]').value === 'v9Xk-Tr42m"<i>');
		assert.ok(await paste.evaluate((one) => one === document.activeElement), 'the focus stays');
		assert.equal(await field.getAttribute('type'), 'password');
		assert.ok(!(await page.content()).includes('v9Xk'), 'the page has the secret');
		await stage.check(page);
		await send(page).click();
		await page.getByText('Answered: For the upload').waitFor();
		assert.equal((await decided(stage, answer)).decision.values.API_TOKEN, 'secret://API_TOKEN');
		assert.ok(!(await page.content()).includes('v9Xk'), 'the page has the secret');
		assert.ok(!page.url().includes('v9Xk'));
	},

	async 'several questions are on one card'(stage) {
		const { options } = decision().arguments;
		const answer = stage.held.hold([{ name: 'request_input', arguments: { questions: [
			{ id: 'branch', kind: 'decision', question: 'Which branch?', options },
			{ id: 'why', kind: 'clarification', question: 'Why now?' },
			{ id: 'values', kind: 'env_var', message: 'Where to?', tool: 'deploy', fields: [{ name: 'HOST', label: 'Host', description: 'Name of the server', required: true, secret: false, pattern: '[a-z.]+', placeholder: 'example.org' }, { name: 'PORT', secret: false, default: '443' }] },
		] } }], agent);
		const page = await stage.open();
		await stage.look(page, 'request_input');
		assert.equal(await page.locator('#main').getByRole('group').count(), 3);
		await page.getByRole('radio').first().check();
		await page.getByLabel('Your answer').fill('It is Monday.');
		await page.getByRole('textbox', { name: 'Host' }).fill('DB');
		await stage.check(page);
		await stage.shot(page, 'questions');
		await send(page).click();
		await page.getByRole('alert').getByText('HOST').waitFor();
		await page.getByRole('alert').getByText('does not match the pattern').waitFor();
		assert.equal((await stage.held.pending()).length, 1);
		assert.ok(await page.getByRole('radio').first().isChecked(), 'what was entered stays');
		assert.equal(await page.getByLabel('Your answer').inputValue(), 'It is Monday.');
		await page.getByRole('textbox', { name: 'Host' }).fill('db.example');
		await send(page).click();
		await page.getByText('Answered: Which branch? (and 2 more)').waitFor();
		assert.deepEqual((await decided(stage, answer)).decision.responses, { branch: { selected: ['stable'] }, why: { answer: 'It is Monday.' }, values: { values: { HOST: 'db.example' } } });
	},

	async 'what a model writes beside a question is shown as text'(stage) {
		const answer = stage.held.hold([decision({ urgency: '<b onclick="pwned=1">high</b>', options: [{ id: 'a', label: 'Now', owner: 'ops' }, { id: 'b', label: 'Later' }], default: 'b' })], agent);
		const page = await stage.open();
		await stage.look(page, 'request_decision');
		const other = (name) => page.locator('.asked .arguments tr', { has: page.getByRole('rowheader', { name, exact: true }) }).locator('td').innerText();
		assert.equal(await other('urgency'), '<b onclick="pwned=1">high</b>');
		assert.equal(await other('options/0/owner'), 'ops');
		assert.deepEqual(await page.locator('.option .badge').allTextContents(), ['default']);
		await stage.check(page);
		await stage.shot(page, 'question-other');
		await page.getByRole('radio').first().check();
		await send(page).click();
		await page.getByText('Answered: Which branch is released?').waitFor();
		const { request } = await decided(stage, answer);
		await page.goto(`${stage.held.console}/#/requests/${request.id}`);
		await page.locator('.option', { hasText: 'Now' }).getByText('selected').waitFor();
		assert.equal(await other('options/0/owner'), 'ops');
		await stage.check(page);
		await page.getByRole('button', { name: 'Raw JSON' }).click();
		await page.getByText('"urgency"').waitFor();
	},

	async 'a row has the question as its title'(stage) {
		stage.held.begin([{ name: 'request_clarification', arguments: { question: 'How many replicas?' } }], agent);
		stage.held.begin([{ name: 'request_env_var', arguments: { fields: [{ name: 'HOST', secret: false }, { name: 'PORT', secret: false }] } }], agent);
		stage.held.begin([{ name: 'request_input', arguments: { questions: [{ id: 'a', kind: 'clarification', question: 'Which zone?' }, { id: 'b', kind: 'clarification', question: 'Why?' }] } }], agent);
		const page = await stage.open();
		await page.locator('.row').nth(2).waitFor();
		assert.deepEqual((await page.locator('.row .title').allInnerTexts()).sort(), ['HOST, PORT', 'How many replicas?', 'Which zone? (and 1 more)']);
		assert.deepEqual((await page.locator('.row .asks').allInnerTexts()).sort(), ['asks a question', 'asks for values', 'asks several questions']);
		await stage.check(page);
	},

	async 'a question is declined with a note'(stage) {
		const answer = stage.held.hold([decision({ default: 'later', options: [{ id: 'later', label: 'Not this week' }, { id: 'now', label: 'At once' }] })], agent);
		const page = await stage.open();
		await stage.look(page, 'request_decision');
		await page.getByText('If nobody answers in time: Not this week').waitFor();
		await page.getByRole('button', { name: 'Decline…' }).click();
		await page.getByLabel('Reason (sent to the model)').fill('Decide yourself.');
		assert.equal(await page.locator('.more').count(), 0);
		await stage.check(page);
		await page.getByRole('button', { name: 'Deny', exact: true }).click();
		await page.getByText('Denied: Which branch is released?').waitFor();
		const { request } = await decided(stage, answer);
		assert.deepEqual([request.status, request.decisions[0].note], ['denied', 'Decide yourself.']);
	},

	async 'a call is answered in words, and is not denied'(stage) {
		const answer = stage.held.hold([push], agent);
		const page = await stage.open();
		await stage.look(page, 'bash');
		await stage.pressMore(page, 'Answer in words…');
		await page.getByRole('button', { name: 'Answer', exact: true }).click();
		await page.getByRole('alert').getByText('Write the answer first.').waitFor();
		await page.getByLabel('Answer in place of the call').fill('Wait until Monday.');
		await stage.check(page);
		await page.getByRole('button', { name: 'Answer', exact: true }).click();
		await page.getByText('Answered: bash').waitFor();
		const { request } = await decided(stage, answer);
		assert.deepEqual([request.status, request.decisions[0].answer], ['answered', 'Wait until Monday.']);
	},

	async 'questions are left out where several calls are approved'(stage) {
		const answers = [stage.held.hold([decision()], agent), stage.held.hold([push], agent)];
		const page = await stage.open();
		await page.locator('.row').nth(1).waitFor();
		for (const row of await page.locator('.row').getByRole('checkbox').all()) await row.check();
		await page.getByRole('button', { name: 'Approve…' }).click();
		await page.getByRole('dialog').getByText('1 question left out: answer it one by one.').waitFor();
		await page.getByRole('button', { name: 'Approve 1 call' }).click();
		await answers[1];
		assert.deepEqual((await stage.held.pending()).map((request) => request.tool_name), ['request_decision']);
	},

	async 'hostile texts of a question are shown and do nothing'(stage) {
		const page = await stage.open();
		for (const { name, text, shows } of HOSTILE) {
			const option = (id) => ({ id, label: text, description: text, estimated_time: text, estimated_cost: text, risks: [text] });
			stage.held.begin([{ name: 'request_input', arguments: { questions: [
				{ id: 'a', kind: 'decision', question: text, options: [option('a'), option('b')] },
				{ id: 'b', kind: 'env_var', message: text, tool: text, fields: [{ name: 'HOST', label: text, description: text, placeholder: text, secret: false }] },
			] } }], { ...agent, user: name, text: name });
			await stage.look(page, 'request_input');
			await page.locator('.call [id^="loading-"]').waitFor({ state: 'detached' });
			const seen = (await page.locator('.call').innerText()).replace(/\s+/g, ' ');
			const want = (shows ?? text).replace(/\s+/g, ' ').trim();
			assert.ok(seen.split(want).length > 14, `${name}: ${want} is not seen in each place:\n${seen}`);
			assert.equal(await page.evaluate(() => globalThis.pwned), undefined, `${name} ran`);
			assert.equal(await page.locator('main :is(script, style, iframe, img, svg, base, [onerror], [onload], [onfocus], h1 b), main a[href*="//"]').count(), 0, `${name} became markup`);
			const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			assert.ok(over <= 0, `${name} makes the page ${over} px wider than the screen`);
			await stage.held.clear();
			await page.locator('.row').first().waitFor({ state: 'detached' });
			if (stage.phone) await page.goto(`${stage.held.console}/#/`);
		}
	},
});
