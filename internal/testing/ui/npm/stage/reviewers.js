// Reviewers who sign in with tokens.

import { createHash } from 'node:crypto';

const NAMES = { ann: 'user: ann, role: reviewer, groups: [finance]', carla: 'role: reviewer, groups: [finance]', eve: 'role: reviewer', dan: 'role: viewer', root: 'role: admin, groups: ["*"]' };

/** The token of a reviewer. @param {string} name */
export const tokenOf = (name) => `token-of-${name}-which-is-long-enough`;

/**
 * Options of a heldcall with these reviewers. It takes 20 sign-ins of an address at once,
 * so a file has no flows for more, at both sizes.
 */
export const withReviewers = {
	console: `
  reviewers:
${Object.entries(NAMES).map(([name, rights]) => `    - {name: ${name}, token_sha256: ${createHash('sha256').update(tokenOf(name)).digest('hex')}, ${rights}}`).join('\n')}
`,
	token: tokenOf('root'),
};

/** Signs in as a reviewer. */
export async function signIn(page, name) {
	await page.getByLabel('Token').fill(tokenOf(name));
	await page.getByRole('button', { name: 'Sign in' }).click();
	await page.locator('#connection.live').waitFor();
}
