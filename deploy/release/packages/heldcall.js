#!/usr/bin/env node
// Starts the heldcall of this platform, which is in a package of its own.
'use strict';

const { spawn } = require('node:child_process');
const os = require('node:os');

const name = `@heldcall/${process.platform}-${process.arch}`;
const file = process.platform === 'win32' ? 'heldcall.exe' : 'heldcall';

let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  console.error(`heldcall: the package ${name} is not installed. There is none for some platforms; elsewhere install heldcall again without --omit=optional.`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// A terminal signals both; heldcall takes the second as the same one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (err) => {
  console.error(`heldcall: cannot start ${program}: ${err.message}`);
  process.exit(1);
});
child.on('close', (code, signal) => {
  process.exit(signal ? 128 + os.constants.signals[signal] : code);
});
