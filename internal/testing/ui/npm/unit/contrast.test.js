// Each colour of code is readable on each background that code can have, in both themes. axe sees only the pairs that a flow shows.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const css = ['base', 'call', 'diff'].map((name) => readFileSync(new URL(`../inbox/${name}.css`, import.meta.url), 'utf8')).join('\n');
const LEAST = 4.5; // WCAG 2.2, 1.4.3, for text of this size

/** The colours, light and dark, of what a pattern finds before them. */
function colours(before) {
	const found = [...css.matchAll(new RegExp(`(${before})light-dark\\((#\\w{6}), (#\\w{6})\\)`, 'g'))];
	assert.ok(found.length > 0, `${before} is in no style`);
	return found.map(([, name, light, dark]) => ({ name, light, dark }));
}

function luminance(colour) {
	const [red, green, blue] = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(text, background) {
	const [darker, lighter] = [luminance(text), luminance(background)].sort((a, b) => a - b);
	return (lighter + 0.05) / (darker + 0.05);
}

const texts = [...colours('\\.tok-\\w+ \\{ color: '), ...colours('--muted: ')];
const backgrounds = [...colours('\\.diff [^{]*\\{ background: '), ...colours('mark\\.cause \\{[^}]*background: '), ...colours('--(?:panel|sunk): ')];

for (const theme of ['light', 'dark']) {
	test(`code is readable on each of its backgrounds (${theme})`, () => {
		const poor = texts.flatMap((text) => backgrounds
			.map((background) => ({ text: text.name, background: background.name, ratio: contrast(text[theme], background[theme]) }))
			.filter(({ ratio }) => ratio < LEAST));
		assert.deepEqual(poor, []);
	});
}
