// A shell command as a script.

/** @typedef {import('../present.js').Found} Found */
/** @typedef {import('../present.js').Part} Part */

const SCRIPTS = ['command', 'cmd', 'script', 'commands', 'CommandLine', 'code'];

/** @param {Map<string, any>} rest @param {import('../types.js').Request} request @returns {Found|null} */
export function shell(rest, request) {
	if ((request.details.commands ?? []).length === 0) return null; // policy takes it for no script
	for (const name of SCRIPTS) {
		const value = rest.get(name);
		if (typeof value === 'string') {
			rest.delete(name);
			return { does: 'run a command', parts: [{ type: 'script', label: name, text: value }] };
		}
		if (Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string')) {
			rest.delete(name);
			return { does: 'run a command', parts: [wordsPart(name, value)] };
		}
	}
	return null;
}

/** A command as a list of words; a script that a shell is given is shown as one. @param {string} name @param {string[]} words @returns {Part} */
function wordsPart(name, words) {
	const [program, flag, script] = words;
	if (words.length === 3 && /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh$/.test(program) && /^-l?c$/.test(flag)) {
		return { type: 'script', label: `${name}: ${program} ${flag}`, text: script };
	}
	return { type: 'script', label: `${name}, as a list of words`, text: words.map(quote).join(' ') };
}

/** @param {string} word */
function quote(word) {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
