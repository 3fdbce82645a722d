// A query of a database.

/** @typedef {import('../present.js').Found} Found */

const NAMES = ['query', 'sql', 'statement', 'sql_query'];
const SQL = /^\s*(?:--[^\n]*\n\s*|\/\*[\s\S]*?\*\/\s*)*(?:select|insert|update|delete|merge|with|create|alter|drop|truncate|grant|revoke|explain|begin|replace|copy|call|vacuum)\s/i;

/** Statements that change something, with what they change. */
const CHANGES = /\b(?:delete\s+from|insert\s+into|merge\s+into|replace\s+into|truncate(?:\s+table)?|update|(?:alter|drop)\s+\w+(?:\s+if\s+exists)?|grant|revoke)\s+[\w."`]+/gi;

/** @param {Map<string, any>} rest @returns {Found|null} */
export function sql(rest) {
	const name = NAMES.find((one) => typeof rest.get(one) === 'string' && SQL.test(rest.get(one)));
	if (!name) return null;
	const text = rest.get(name);
	rest.delete(name);
	const matters = [...text.matchAll(CHANGES)].map(([found]) => found);
	return { does: 'run a database query', matters, parts: [{ type: 'text', label: `${name}, as SQL`, text, language: 'sql' }] };
}
