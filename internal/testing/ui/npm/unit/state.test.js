import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ago, left } from '../inbox/clock.js';
import { causeSpans, causesOf, effectsText } from '../inbox/effects.js';
import { heading, noticeHeading } from '../inbox/heading.js';
import { bundles, matches, nextPin, questionsOf } from '../inbox/order.js';
import { hiddenIn, present } from '../inbox/present.js';
import { csvOf, cursorOf, dayOf, linesOf, selects, wordsOf } from '../inbox/history.js';
import { alone, counts, hindrance, spent, waits } from '../inbox/session.js';
import { EventReader } from '../inbox/sse.js';
import { restored } from '../inbox/store.js';
import { runs } from '../inbox/text/spans.js';
import { argumentsOf, draftOf } from '../inbox/view/edit.js';
import { fromTemplate, grantOf, newDraft } from '../inbox/view/grant.js';
import { isDelayed } from '../inbox/undo.js';
import { decidedBefore, ruleLine, similarWords } from '../inbox/view/past.js';
import { evidence } from '../inbox/view/proposals.js';
import { apply, memoryOf, wanted } from '../inbox/view/remember.js';
import { stepsBetween } from '../inbox/view/led.js';
import { chapters, runsOf, shownState } from '../inbox/view/run.js';
import { durationOf } from '../inbox/view/terms.js';
import { HOSTILE } from '../stage/hostile.js';

const request = (id, more = {}) => ({
	id, turn_id: `turn-${id}`, status: 'pending', risk_level: 'medium', expires_at: '2026-01-01T00:05:00Z', created_at: `2026-01-01T00:00:0${id}Z`,
	tool_name: 'tool', arguments: {}, details: {}, tool: {}, decisions: [], reviewers: [], required_approvals: 1, context: {}, run_id: 'run',
	principal: { tenant: '', user: 'ann', agent: 'bot' }, ...more,
});

describe('questions', () => {
	test('headings are those of the server', () => {
		const table = JSON.parse(readFileSync(new URL('../headings.json', import.meta.url), 'utf8'));
		assert.ok(table.length > 10);
		for (const { calls, heading: want, notice = want } of table) {
			const requests = calls.map(({ effects, commands, arguments: args }) => ({ effects, arguments: args, details: { commands } }));
			assert.equal(heading(requests), want);
			assert.equal(noticeHeading(requests), notice);
		}
	});
	test('requests that the server has joined are beside each other', () => {
		const run = [request('4', { together: 'a' }), request('1'), request('2', { together: 'a' }), request('3', { together: 'b' }), request('5')];
		assert.deepEqual(questionsOf(run).map((question) => question.map(({ id }) => id)), [['1'], ['2', '4'], ['3'], ['5']]);
		const [bundle] = bundles(run, 'age', { at: 0, mine: () => true });
		assert.deepEqual(bundle.requests.map(({ id }) => id), ['1', '2', '4', '3', '5']);
	});
});

describe('events', () => {
	const all = 'id: 7\nevent: a\ndata: {"x":\ndata: 1}\n\n: heartbeat\n\nevent: b\ndata:2\n\n';
	for (const size of [1, 2, 3, 7, 1000]) {
		test(`in pieces of ${size}`, () => {
			const reader = new EventReader();
			const events = [];
			for (let i = 0; i < all.length; i += size) events.push(...reader.push(all.slice(i, i + size)));
			assert.deepEqual(events, [{ id: '7', name: 'a', data: '{"x":\n1}' }, { id: '', name: 'b', data: '2' }]);
		});
	}
});

describe('order', () => {
	const list = [request('3', { risk_level: 'critical', run_id: 'c' }), request('2', { run_id: 'b' }), request('1', { expires_at: '2026-01-01T00:09:00Z', run_id: 'a' }), request('5', { run_id: 'b', risk_level: 'high' })];
	const view = (more) => ({ at: Date.parse('2026-01-01T00:00:00Z'), mine: () => true, ...more });
	const keys = (order, more) => bundles(list, order, view(more)).map((bundle) => bundle.requests.map((each) => each.id).join('+'));
	test('requests of one run are together, those of another agent are not', () => {
		const of = (id, agent, run) => request(id, { turn_id: `turn-${id}`, principal: { tenant: 't', user: 'u', agent }, session_id: 's', run_id: run });
		const all = bundles([of('1', 'a', 'r'), of('2', 'a', 'r'), of('3', 'b', 'r'), of('4', 'a', 'q')], 'age', view());
		assert.deepEqual(all.map((bundle) => bundle.requests.map((each) => each.id).join('+')), ['1+2', '3', '4']);
	});
	test('by risk, a run by its riskiest call', () => assert.deepEqual(keys('risk'), ['3', '2+5', '1']));
	test('what one can decide is before what others decide', () => assert.deepEqual(keys('risk', { mine: ({ id }) => id === '1' }), ['1', '3', '2+5']));
	test('what ends within two minutes is the first, also of what others decide', () => {
		const at = Date.parse('2026-01-01T00:07:30Z');
		const late = [request('6', { expires_at: '2026-01-01T00:30:00Z', risk_level: 'critical', run_id: 'd' }), list[2]];
		assert.deepEqual(bundles(late, 'risk', view({ at, mine: ({ id }) => id === '6' })).map((bundle) => bundle.requests[0].id), ['1', '6']);
		assert.deepEqual(bundles(late, 'risk', view({ at: at - 60_000 })).map((bundle) => bundle.requests[0].id), ['6', '1']);
		assert.equal(nextPin(bundles(late, 'risk', view({ at: at - 60_000 })), at - 60_000), Date.parse('2026-01-01T00:07:00Z'));
	});
	test('of equal risk the one with the least time left', () => assert.deepEqual(
		bundles([request('1', { expires_at: '2026-01-01T00:20:00Z', run_id: 'a' }), request('2', { run_id: 'b' })], 'risk', view()).map((bundle) => bundle.key.slice(-3, -1)), ['b"', 'a"']));
	test('the filter finds what watch finds', () => {
		const one = request('77', { tool_name: 'Bash', title: 't', args_preview: 'git push', resource: 'x', session_id: 's-9' });
		for (const text of ['bash', 'PUSH', 'ann', 'medium', '77', 's-9', 'bot']) assert.ok(matches(one, text), text);
		assert.ok(!matches(one, 'pull'));
	});
	test('by age', () => assert.deepEqual(keys('age'), ['1', '2+5', '3']));
	test('by time left', () => assert.deepEqual(keys('expiry'), ['2+5', '3', '1']));
});

describe('what a card highlights', () => {
	const effects = [{ kind: 'read', target: 'a.go' }, { kind: 'send', target: 'git push' }];
	test('the targets of grave effects', () => assert.deepEqual(causesOf(request('1', { reason: '', effects })), ['git push']));
	test('the first effect where none is grave', () => assert.deepEqual(causesOf(request('1', { reason: '', effects: effects.slice(0, 1) })), ['a.go']));
	test('what is in doubt, and not the pattern', () => assert.deepEqual(causesOf(request('1', { reason: 'May match `tool(rm *)`: `$X` is unknown before it runs.' })), ['$X']));
	test('what a presenter names', () => assert.deepEqual(causesOf(request('1', { effects: [{ kind: 'unknown', target: 'tool' }] }), ['h']), ['h']));
	const marked = (text, ...causes) => causeSpans(text, causes).map(({ from, to }) => text.slice(from, to));
	test('whole words only', () => assert.deepEqual(marked('farm rm rm', 'rm'), ['rm', 'rm']));
	test('words with other spaces and quotes', () => assert.deepEqual(marked('git   "push" origin', 'git push'), ['git   "push']));
	test('texts with the letters of patterns', () => assert.deepEqual(marked('cat a[1-2].(x)', 'a[1-2].(x)'), ['a[1-2].(x)']));
	test('no hostile text is lost', () => {
		for (const { text } of HOSTILE) {
			const spans = [...causeSpans(text, ['rm', 'a', '<']), { from: 2, to: 9, style: 'x' }];
			assert.equal(runs(text, spans).map((run) => run.text).join(''), text);
		}
	});
	test('styles overlap', () => assert.deepEqual(runs('abcd', [{ from: 0, to: 3, style: 'x' }, { from: 2, to: 9, style: 'y' }]).map((run) => `${run.text} ${run.styles}`), ['ab x', 'c x,y', 'd y']));
});

describe('times', () => {
	test('left', () => assert.deepEqual([-5, 0, 61_000, 3_600_000, 90_000_000].map(left), ['0:00', '0:00', '1:01', '1 h 0 min', '1 d 1 h']));
	test('ago', () => assert.deepEqual([0, 59_000, 60_000, 7_200_000].map(ago), ['just now', '59 s ago', '1 min ago', '2 h ago']));
});

describe('how a call is read', () => {
	const read = (args, more) => present(request('1', { arguments: args, ...more }));
	const shell = { details: { commands: ['x'] } };
	test('a script', () => assert.deepEqual(read({ command: 'ls', cwd: '/' }, shell).parts, [{ type: 'script', label: 'command', text: 'ls' }]));
	test('a shell with a script', () => assert.deepEqual(read({ command: ['bash', '-lc', 'ls | wc'] }, shell).parts[0].text, 'ls | wc'));
	test('a list of words', () => assert.equal(read({ command: ['rm', 'a b', "it's"] }, shell).parts[0].text, `rm 'a b' 'it'\\''s'`));
	test('what policy takes for no script is none', () => assert.deepEqual(read({ command: 'view', path: 'a' }).parts, []));
	test('several edits are one file', () => {
		const { parts, rest, lead } = read({ path: 'a', edits: [{ oldText: 'a', newText: 'b' }, { oldText: 'c', newText: 'd' }] });
		assert.deepEqual([parts.map(({ path, lines }) => [path, lines.map(({ sign, text, n }) => `${n ?? ''}${sign}${text}`)]), rest, lead],
			[[['a', ['@Edit 1 of 2', '-a', '+b', '@Edit 2 of 2', '-c', '+d']]], [], [['path', 'a']]]);
	});
	const known = (files) => ({ details: { files: files.map((file) => ({ exists: true, source: 'workspace', ...file })) } });
	const rows = ({ parts }, i = 0) => parts[i].lines.map(({ sign, text, n }) => `${n ?? ''}${sign}${text}`);
	test('an edit has the numbers of its lines', () => {
		const args = { file_path: 'a', edits: [{ old_string: 'x', new_string: 'x\ny' }, { old_string: 'z', new_string: '' }] };
		assert.deepEqual(rows(read(args, known([{ path: 'a', lines: [10, 20] }]))), ['@Edit 1 of 2', '10 x', '11+y', '@Edit 2 of 2', '20-z']);
		assert.deepEqual(rows(read(args, known([{ path: 'a', lines: [0, 20] }]))).slice(1, 3), [' x', '+y']);
		assert.deepEqual(rows(read(args, known([{ path: 'b', lines: [10, 20] }]))).slice(1, 3), [' x', '+y'], 'of another file');
		assert.equal(read(args, known([{ path: 'a', lines: [10, 20], source: 'result' }])).parts[0].hint, 'Line numbers as the agent last read the file.');
	});
	test('a later edit counts what an earlier one adds', () => {
		const args = { file_path: 'a', edits: [{ old_string: 'x', new_string: 'x\ny' }, { old_string: 'z', new_string: 'w' }] };
		assert.deepEqual(rows(read(args, known([{ path: 'a', lines: [10, 20] }]))).slice(-2), ['20-z', '21+w']);
	});
	test('a written file is new, overwrites or is not known', () => {
		const args = { file_path: 'a.js', content: 'one\ntwo\n' };
		const of = (...files) => { const { parts: [{ status, lines, text }] } = read(args, known(files)); return [status, text ?? lines.map(({ sign, text: line, n }) => `${n ?? ''}${sign}${line}`)]; };
		assert.deepEqual(of(), ['', args.content]);
		assert.deepEqual(of({ path: 'a.js', exists: false }), ['new file', ['1+one', '2+two']]);
		assert.deepEqual(of({ path: 'a.js' }), ['overwrites', args.content]);
		assert.deepEqual(of({ path: 'a.js', text: 'one\n2\n' }), ['overwrites', ['1 one', '2-2', '2+two']]);
		assert.deepEqual(of({ path: 'a.js', text: 'one\ntwo' }), ['overwrites', ['1 one', '2 two', '@A line break is added at the end of the file.']]);
		assert.equal(read({ ...args, append: true }, known([{ path: 'a.js', text: 'x' }])).parts[0].status, '', 'what is added overwrites nothing');
	});
	test('a patch is its files', () => {
		const input = '*** Begin Patch\n*** Add File: n\n+x\n*** Update File: u.js\n*** Move to: m.js\n@@ f\n-a\n+b\n@@\n c\n+d\n*** Delete File: d\n*** End Patch';
		const read1 = read({ input }, known([{ path: 'n', exists: false }, { path: 'u.js', lines: [7, 30] }]));
		assert.deepEqual(read1.parts.map(({ path, status, language }) => [path, status, language]), [['n', 'new file', ''], ['u.js', 'moved to m.js', 'slash'], ['d', 'deleted', '']]);
		assert.deepEqual([rows(read1), rows(read1, 1), rows(read1, 2)], [['1+x'], ['@@@ f', '7-a', '7+b', '@@@', '30 c', '31+d'], []]);
		assert.equal(read({ input }, known([{ path: 'n' }])).parts[0].status, 'overwrites');
	});
	test('an edit that says more than two texts stays in the table', () => {
		const { parts, rest } = read({ path: 'a', edits: [{ oldText: 'a', newText: 'b', run: 'evil' }] });
		assert.deepEqual([parts.length, rest.length], [0, 2]);
	});
	test('no argument is left out', () => {
		const args = { file_path: 'p', old_string: 'a', new_string: 'b', content: 'c', command: 'd', constructor: 'e', replace_all: true };
		const { lead, rest } = read(args, shell);
		const shown = new Set([...lead, ...rest].map(([name]) => name));
		assert.deepEqual(Object.keys(args).filter((name) => !shown.has(name)), ['command']);
	});
	test('SQL', () => assert.deepEqual(read({ query: 'DELETE FROM users', limit: 5 }), { does: 'run a database query', lead: [], note: '', matters: ['DELETE FROM users'], parts: [{ type: 'text', label: 'query, as SQL', text: 'DELETE FROM users', language: 'sql' }], rest: [['limit', 5]] }));
	test('a query that is no SQL', () => assert.deepEqual(read({ query: 'weather in Paris' }).parts, []));
	test('an HTTP request', () => {
		const { parts, rest, matters } = read({ method: 'POST', url: 'https://api.example/x', headers: { A: 'b' }, body: { n: 1 }, retries: 2 });
		assert.deepEqual(parts.map(({ label, text, pairs }) => [label, text ?? pairs]), [['method, url', 'POST https://api.example/x'], ['headers', [['A', 'b']]], ['body', [['n', 1]]]]);
		assert.deepEqual([rest, matters], [[['retries', 2]], ['api.example']]);
	});
	test('a method with a line break is no request line', () => assert.deepEqual(read({ method: 'GET\nx', url: 'https://a.example' }).parts, []));
	test('an e-mail', () => {
		const { parts, rest, matters } = read({ to: ['a@x.example', 'b@x.example'], bcc: 'c@x.example', subject: 'S', body: 'B', attachments: [] });
		assert.deepEqual(parts.map(({ text, pairs }) => text ?? pairs), [[['to', 'a@x.example, b@x.example'], ['bcc', 'c@x.example'], ['subject', 'S']], 'B']);
		assert.deepEqual([rest, matters], [[['attachments', []]], ['a@x.example', 'b@x.example', 'c@x.example']]);
	});
	test('the end of a path tells the language', () => assert.deepEqual(['a.go', 'b.py', 'c.sh', 'd'].map((path) => read({ path, content: 'x' }).parts[0].language), ['slash', 'hash', 'shell', '']));
	test('a file that is made', () => assert.deepEqual([read({ command: 'create', path: 'a.go', file_text: 'x' }).note, read({ path: 'a.go', content: 'x' }).note], ['new file', '']));
	test('free text that is a patch', () => assert.equal(read('*** Begin Patch\n*** End Patch', { details: { free_text: true } }).parts[0].type, 'diff'));
	test('hidden characters are found at any depth, in names too', () => assert.equal(hiddenIn({ 'a\u200b': [{ b: '\u202e' }], n: 1 }), 2));
});

describe('finding 24: what a list has abridged', () => {
	const whole = request('1', { arguments: { command: 'ls' }, resource: 'ls', tool: { parameters: {} }, details: { commands: ['ls'], raw_arguments: '{}' } });
	const short = (more) => ({ ...whole, arguments: null, resource: 'l…', tool: {}, details: { commands: ['l…'], abridged: true }, ...more });
	test('is restored of what is known', () => assert.equal(JSON.stringify(restored(short(), whole)), JSON.stringify(whole)));
	test('has its news', () => {
		const decisions = [{ action: 'approve', reviewer_id: 'bob' }];
		const now = restored(short({ status: 'approved', decisions, details: { abridged: true, ended_at: 'now' } }), whole);
		assert.deepEqual([now.status, now.decisions, now.arguments, now.details], ['approved', decisions, { command: 'ls' }, { commands: ['ls'], raw_arguments: '{}', ended_at: 'now' }]);
	});
	test('is not whole without the arguments of an edit', () => {
		const decisions = [{ action: 'modify_args', reviewer_id: 'bob' }];
		assert.ok(restored(short({ decisions }), whole).details.abridged);
		assert.ok(!restored(short({ decisions }), { ...whole, decisions: [{ ...decisions[0], modified_args: {} }] }).details.abridged);
	});
	test('is not restored of another abridged one', () => assert.equal(restored(short(), short()).arguments, null));
	test('shows no arguments', () => assert.deepEqual(present(short()), { does: '', lead: [], note: '', matters: [], parts: [], rest: [] }));
});

describe('what follows for later calls', () => {
	const shell = (commands, effects) => similarWords(request('1', { tool_name: 'bash', resource: 'x', effects, details: { commands } }));
	test('similar calls have the command that made policy ask', () => assert.equal(shell(['ls -la', 'git push origin main'], [{ kind: 'send', target: 'git push' }]), 'bash git push'));
	test('without its options', () => assert.equal(shell(['rm -rf a']), 'bash rm'));
	test('or the resource', () => assert.equal(similarWords(request('1', { tool_name: 'Edit', resource: '/a/b.go' })), 'Edit /a/b.go'));
	test('or only the tool', () => assert.equal(similarWords(request('1', { tool_name: 't', resource: '{"a": 1}' })), 't'));
	test('only decisions of the same tool count', () => {
		const one = (id, more) => request(id, { status: 'denied', decisions: [{}], ...more });
		const found = [one('1'), one('2'), one('3', { tool_name: 'other' }), one('4', { status: 'pending' }), one('5', { status: 'expired', decisions: [] })];
		assert.deepEqual(decidedBefore(found, request('1')).map(({ id }) => id), ['2']);
	});
	test('a rule is a line of YAML', () => assert.equal(ruleLine('allow', ['bash(echo "a: b" *)', 'Edit(x)']), '- allow: ["bash(echo \\"a: b\\" *)", "Edit(x)"]'));
	test('approvals of critical calls can be undone', () => {
		const critical = request('1', { risk_level: 'critical' });
		const of = (action, ...requests) => isDelayed(requests, { action });
		assert.deepEqual([of('approve', critical), of('allow_always', critical), of('modify_args', request('2'), critical)], [true, true, true]);
		assert.deepEqual([of('deny', critical), of('answer', critical), of('approve', request('2', { risk_level: 'high' }))], [false, false, false]);
	});
});

describe('who may decide', () => {
	const me = (more) => ({ name: 'ann', role: 'reviewer', groups: [], self_approval: true, ...more });
	test('anybody where nobody is named', () => assert.equal(hindrance(request('1'), me()), ''));
	test('a viewer never', () => assert.match(hindrance(request('1'), me({ role: 'viewer' })), /view-only/));
	test('others than the named', () => assert.match(hindrance(request('1', { reviewers: ['finance'] }), me({ groups: ['it'] })), /Only finance/));
	test('others in the place of the named', () => {
		const request1 = request('1', { reviewers: ['finance'] });
		assert.equal(hindrance(request1, me({ decides_for: [{ name: 'bob', groups: ['finance'] }] })), '');
		assert.match(hindrance(request1, me({ decides_for: [{ name: 'bob', groups: ['it'] }] })), /Only finance/);
	});
	test('those of all groups', () => assert.equal(hindrance(request('1', { reviewers: ['finance'] }), me({ groups: ['*'] })), ''));
	test('who has approved may fill in another place what their own groups leave open', () => {
		const demands = [{ rule: 'a', reviewers: ['dba'], required_approvals: 1 }, { rule: 'b', reviewers: ['security'], required_approvals: 1 }];
		const asked = request('1', { reviewers: ['dba', 'security'], demands, decisions: [{ reviewer_id: 'ann', fills: [0] }] });
		assert.match(spent(asked, me({ groups: ['dba'] })), /^You approved\. Waiting for/);
		assert.equal(spent(asked, me({ groups: ['dba'], decides_for: [{ name: 'sue', groups: ['security'] }] })), '');
		assert.equal(spent(asked, me({ groups: ['dba', 'security'] })), '');
	});
	test('nobody for groups that have approved, though they may deny', () => {
		const demands = [{ rule: 'a', reviewers: ['dba'], required_approvals: 1 }, { rule: 'b', reviewers: ['security'], required_approvals: 1 }];
		const asked = request('1', { reviewers: ['dba', 'security'], demands, decisions: [{ reviewer_id: 'bob', reviewer_user: 'Bob@corp.example', fills: [0] }] });
		assert.match(spent(asked, me({ groups: ['dba'] })), /^Your groups approved\. Waiting for 1 more approval of security\./);
		assert.equal(hindrance(asked, me({ groups: ['dba'] })), '');
		assert.match(spent(asked, me({ groups: ['dba'], user: 'bob@corp.example' })), /^bob approved and counts as you/);
		assert.match(spent(asked, me({ decides_for: [{ name: 'bob', groups: ['dba'] }] })), /^bob approved and counts as you/);
		assert.equal(spent(asked, me({ groups: ['security'] })), '');
		const both = (person) => ['approve', 'deny'].map((action) => counts(action, asked, person));
		assert.deepEqual([both(me({ groups: ['dba'] })), both(me({ groups: ['security'] })), both(me({ groups: ['it'] }))], [[false, true], [true, true], [false, false]]);
	});
	test('of several approvals the next', () => {
		const asked = request('1', { reviewers: ['dba'], required_approvals: 2, decisions: [{ reviewer_id: 'bob' }] });
		assert.equal(spent(asked, me({ groups: ['dba'] })), '');
		assert.match(spent(asked, me({ name: 'bob', groups: ['dba'] })), /^You approved\. Waiting for/);
	});
	test('a demand waits until it has its approvals', () => {
		const demands = [{ rule: 'a', reviewers: ['dba'], required_approvals: 1 }, { rule: 'b', reviewers: ['security'], required_approvals: 2 }];
		const asked = request('1', { demands, decisions: [{ reviewer_id: 'ann', fills: [0, 1] }] });
		assert.deepEqual([waits(asked, 0), waits(asked, 1)], [false, true]);
	});
	test('only one of all groups edits alone', () => {
		const demands = [{ rule: 'a', reviewers: ['dba'], required_approvals: 1 }, { rule: 'b', reviewers: ['security'], required_approvals: 1 }];
		const groups = [['dba'], ['dba', 'security'], ['*']];
		assert.deepEqual(groups.map((groups) => alone(request('1', { demands }), me({ groups }))), [false, true, true]);
		assert.deepEqual([1, 2].map((required_approvals) => alone(request('1', { required_approvals }), me())), [true, false]);
	});
	test('nobody for their own agent, unless that is permitted', () => {
		for (const who of [{ name: 'ann' }, { name: 'root', user: 'Ann' }]) {
			assert.match(spent(request('1'), me({ ...who, self_approval: false })), /own agent/);
			assert.equal(spent(request('1'), me(who)), '');
		}
		assert.equal(spent(request('1'), me({ name: 'bob', user: 'bob', self_approval: false })), '');
	});
	test('nobody twice', () => assert.match(spent(request('1', { decisions: [{ reviewer_id: 'ann' }] }), me()), /^You approved\. Waiting for/));
});

describe('what is remembered', () => {
	test('finding 28: every exact pattern is chosen, and no wider one', () => {
		const remember = { patterns: ['bash(a)', 'bash(b c)'], scope: 'session', expires: '8h0m0s' };
		const memory = memoryOf(request('1', { suggested_patterns: ['bash(a)', 'bash(b c)', 'bash(b *)'], session_id: 's', details: { remember } }));
		assert.deepEqual([...memory.chosen], ['bash(a)', 'bash(b c)']);
	});
	test('durations of the configuration', () => assert.deepEqual(['1h0m0s', '90s', '1m30s', '1.5s', '500ms', ''].map(durationOf), [3_600_000, 90_000, 90_000, 1500, 500, 0]));
	const template = { name: 't', title: 'T', effect: 'deny', patterns: ['a', 'b'], scope: 'session', expires: '1h0m0s' };
	test('a template is named, and takes every place of the form', () => {
		const memory = memoryOf(request('1', { suggested_patterns: ['x', 'x*'], session_id: 's', details: { remember: { patterns: ['x'], scope: 'session', expires: '8h0m0s' } } }))
		assert.equal(memory.lasts, 8 * 3_600_000);
		assert.deepEqual(wanted(memory), { patterns: ['x'], scope: 'session' });
		apply(memory, template);
		assert.deepEqual(wanted(memory), { template: 't', scope: 'session' });
		assert.deepEqual([memory.effect, memory.lasts, memory.typed, memory.chosen.size], ['deny', 3_600_000, 'a\nb', 0]);
	});
});

describe('grants by hand', () => {
	const draft = (more) => Object.assign(newDraft(), { tenant: 'acme', user: 'ann', agent: 'bot', session: 's', patterns: ' a \n\nb\na' }, more);
	test('only the names that the scope compares are sent', () => {
		const principals = ['tenant', 'user', 'agent', 'session'].map((scope) => grantOf(draft({ scope, lasts: 0 })));
		assert.deepEqual(principals.map(({ principal, session_id: session }) => [...Object.values(principal), session]), [
			['acme', '', '', undefined], ['acme', 'ann', '', undefined], ['acme', 'ann', 'bot', undefined], ['acme', 'ann', 'bot', 's'],
		]);
	});
	test('patterns are lines, each once', () => assert.deepEqual(grantOf(draft({})).patterns, ['a', 'b']));
	test('a template is named', () => {
		const given = draft({});
		fromTemplate(given, { name: 't', title: 'T', effect: 'deny', patterns: ['x'], scope: 'tenant', expires: '' });
		assert.deepEqual(grantOf(given), { effect: 'deny', scope: 'tenant', principal: { tenant: 'acme', user: '', agent: '' }, template: 't' });
	});
});

describe('drafts', () => {
	test('an untouched draft changes nothing', () => {
		const args = { a: 'x\ny', n: 1, o: { k: [null] }, constructor: 'c' };
		assert.deepEqual(argumentsOf(draftOf(request('1', { arguments: args }))), args);
	});
	test('free text stays a text', () => assert.equal(argumentsOf(draftOf(request('1', { arguments: '{"a":1}', details: { free_text: true } }))), '{"a":1}'));
	test('what is no JSON is told by name', () => assert.throws(() => argumentsOf({ fields: [{ name: 'n', isText: false, text: '1,5' }], json: '' }), /“n” is not JSON/));
});

describe('history and runs', () => {
	const one = request('1', { arguments: { to: 'Bob' }, decisions: [{ reviewer_id: 'carla', note: 'Never.' }], context: { last_user_message: 'Pay' } });
	test('runs have their requests and their state', () => {
		const [run] = runsOf([request('2', { context: { last_user_message: 'Then ship' } }), one], [{ id: 'run', state: 'paused', principal: one.principal, updated_at: '2025-01-01T00:00:00Z' }]);
		assert.deepEqual([run.state, run.requests, run.waiting, run.task], ['paused', 2, 2, 'Pay']);
	});
	test('a run that the API does not list has ended, unless a request of it waits', () => {
		const states = (...requests) => runsOf(requests, []).map((run) => run.state);
		assert.deepEqual([states(one), states({ ...one, status: 'approved' })], [['running'], ['ended']]);
	});
	test('a run is idle a minute after an answer without calls, unless a request of it waits', () => {
		const at = Date.parse('2026-01-01T00:02:00Z');
		const of = (more, state = 'running') => shownState({ state, ...more }, at);
		assert.deepEqual([of({ answered_at: '2026-01-01T00:01:00Z' }), of({ answered_at: '2026-01-01T00:01:01Z' }), of({})], ['idle', 'running', 'running']);
		assert.deepEqual([of({ answered_at: '2026-01-01T00:01:00Z' }, 'paused'), of({ answered_at: '2026-01-01T00:01:00Z' }, 'ended')], ['paused', 'ended']);
		const run = { id: 'run', state: 'running', principal: one.principal, updated_at: '2025-01-01T00:00:00Z', answered_at: '2025-01-01T00:00:00Z' };
		assert.deepEqual([runsOf([one], [run])[0].state, runsOf([{ ...one, status: 'denied' }], [run])[0].state], ['running', 'idle']);
	});
	test('a step is shown once, and not where it is a request', () => {
		const step = (id) => ({ tool_call_id: id, tool_name: 't', preview: id });
		const of = (id, ...steps) => request(id, { tool_call_id: `call_${id}`, context: { steps } });
		const run = [of('1', step('a')), of('2', step('a'), step('call_1'), step('b')), of('3', step('b'), step('call_2'), { tool_name: 't', preview: '' })];
		assert.deepEqual([...stepsBetween(run).values()].map((steps) => steps.map(({ preview }) => preview)), [['a'], ['b'], []]);
	});
	test('the history has what the filters find', () => {
		const ended = { ...one, status: 'denied', tool_name: 'Pay_out', title: '', rule: 'policy.yaml:7', created_at: '2025-03-04T12:00:00Z', principal: { ...one.principal, agent: 'Coder' } };
		const shows = (filter, of = ended) => selects(of, new URLSearchParams(filter));
		for (const filter of ['', 'agent=coder', 'tool=pay', 'rule=yaml%3A7', 'reviewer=CARLA', 'agent=code&tool=out', 'day=2025-03-04']) assert.ok(shows(filter), filter);
		for (const filter of ['agent=bot', 'tool=coder', 'rule=8', 'reviewer=dan', 'agent=code&tool=in', 'day=2025-03-05']) assert.ok(!shows(filter), filter);
		assert.ok(!shows('', { ...ended, status: 'pending' }));
		assert.equal(wordsOf(new URLSearchParams('q=a+b&tool=c&day=2025-03-04&status=denied')), 'a b c');
	});
	test('a day is read from its end', () => {
		const { from, to } = dayOf(new URLSearchParams('day=2025-03-04'));
		assert.equal(to - from, 86_400_000);
		assert.equal(cursorOf(1_469_918_176_385), '01ARYZ6S410000000000000000'); // the example of the ULID specification, without its random part
		assert.equal(cursorOf(dayOf(new URLSearchParams('day=x')).to), '');
	});
	test('an export is a table that computes nothing, or the requests', () => {
		const ended = { ...one, status: 'denied', args_preview: '=HYPERLINK("x")', tool_name: 'a,b', title: 'Pay', rule: 'policy.yaml:7', created_at: '2025-03-04T12:00:00Z', risk_level: 'low', run_id: 'run', principal: { agent: 'a', user: 'b', tenant: 'c' }, details: {} };
		const [head, line, rest] = csvOf([ended]).split('\r\n');
		assert.match(head, /^"id","created_at",/);
		assert.match(line, /"a,b","'=HYPERLINK\(""x""\)","Pay","policy.yaml:7","carla","Never\.",""$/);
		assert.equal(rest, '');
		assert.deepEqual(linesOf([ended, one]).trim().split('\n').map((text) => JSON.parse(text).id), ['1', '1']);
	});
	test('chapters begin where the user speaks again', () => {
		const said = (text) => request('1', { context: { last_user_message: text } });
		assert.deepEqual(chapters([said('a'), said('a'), said('b')]).map((chapter) => chapter.requests.length), [2, 1]);
	});
});

test('effects are a line, the most dangerous first', () => {
	assert.equal(effectsText([{ kind: 'run', target: '.husky/pre-commit', later: 'hook', reversible: false }, { kind: 'run', target: 'x', reversible: false }]), 'Runs other code: x · Writes what runs later (hook): .husky/pre-commit');
	assert.equal(effectsText(undefined), '');
	assert.equal(effectsText([{ kind: 'new', reversible: false }]), 'Unknown effects');
	assert.equal(effectsText([
		{ kind: 'read', target: 'a', reversible: true }, { kind: 'send', target: 'h', reversible: false, irreversible: true }, { kind: 'destroy', target: 'pod', reversible: false }, { kind: 'read', target: 'b', place: 'outside', reversible: true },
		...['1', '2', '3', '4'].map((target) => ({ kind: 'write', target, place: 'workspace', reversible: false })),
	]), 'Destroys: pod · Sends: h (cannot be undone) · Writes in the workspace: 1, 2, 3 and 1 more · Reads outside the workspace: b · Reads: a');
});

describe('proposals', () => {
	const proposal = { approved: 4, sessions: 2, fewer: 3, alone: 3 };
	test('evidence and effect', () => assert.equal(evidence(proposal, 40), 'approved 4 times in 2 sessions, never denied · 3 prompts fewer, of 40'));
	test('together with others', () => assert.match(evidence({ ...proposal, sessions: 1, alone: 0 }, 40), /in 1 session, .* \(0 without the other proposals\)$/));
});
