/**
 * `npm run vstation -- COMMAND…` boots the virtual station and runs each command in it, one after the other. With `--payload FOLDER`
 * the folder's content is found below /payload. Without a command: whether it boots, and how long that takes.
 */
import { parseArgs } from 'node:util';
import { createWorkspace } from '../rig/workspace.ts';
import { openImage } from './image.ts';
import { startMachine } from './machine.ts';

const { values, positionals } = parseArgs({ options: { payload: { type: 'string' } }, allowPositionals: true });

await using workspace = await createWorkspace();
const payload = values.payload === undefined ? {} : { payload: values.payload };
const machine = await startMachine({ workspace, image: await openImage(), ...payload });
process.stderr.write(`The virtual station is up after ${(machine.bootMs / 1000).toFixed(1)} s.\n`);
for (const command of positionals) {
  const { code, stdout, stderr } = await machine.run(command, { timeoutMs: 600_000 });
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  if (code !== 0) process.exitCode = code;
}
