// An e-mail: who gets it, its subject, its text.

/** @typedef {import('../present.js').Found} Found */
/** @typedef {import('../present.js').Part} Part */

const PEOPLE = ['from', 'to', 'recipient', 'recipients', 'cc', 'bcc', 'reply_to'];
const BODIES = ['body', 'text', 'content', 'message', 'html', 'html_body'];

/** @param {Map<string, any>} rest @returns {Found|null} */
export function mail(rest) {
	const isAddressed = ['to', 'recipient', 'recipients'].some((name) => isPeople(rest.get(name)));
	const body = BODIES.find((name) => typeof rest.get(name) === 'string');
	if (!isAddressed || typeof rest.get('subject') !== 'string' || !body) return null;
	const names = [...PEOPLE.filter((name) => isPeople(rest.get(name))), 'subject'];
	/** @type {Part[]} */
	const parts = [
		{ type: 'fields', label: '', pairs: names.map((name) => [name, [rest.get(name)].flat().join(', ')]) },
		{ type: 'text', label: body, text: rest.get(body) },
	];
	const matters = names.filter((name) => name !== 'subject' && name !== 'from' && name !== 'reply_to').flatMap((name) => rest.get(name));
	for (const name of [...names, body]) rest.delete(name);
	return { does: 'send an email', parts, matters: matters.filter(Boolean) };
}

/** An address, or several of them. @param {unknown} value */
function isPeople(value) {
	return typeof value === 'string' || (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string' && !one.includes(',')));
}
