/**
 * `npm run vstation -- COMMAND…` boots the virtual station and runs each command in it, one after the other; without any, every line of
 * standard input as it comes. With `--payload FOLDER` the folder's content is found below /payload; with `--agent` the agent is
 * installed and started.
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createWorkspace } from '../rig/workspace.ts';
import { installAgent } from './agent.ts';
import { openImage } from './image.ts';
import { startMachine } from './machine.ts';
import { createPayload } from './payload.ts';

const { values, positionals } = parseArgs({
  options: { payload: { type: 'string' }, agent: { type: 'boolean', default: false } },
  allowPositionals: true,
});

await using workspace = await createWorkspace();
const payload = values.agent ? await createPayload(workspace) : values.payload;
const machine = await startMachine({
  workspace,
  image: await openImage(),
  ...(payload === undefined ? {} : { payload }),
});
process.stderr.write(`The virtual station is up after ${(machine.bootMs / 1000).toFixed(1)} s.\n`);
if (values.agent) await (await installAgent(machine)).start();
for await (const command of positionals.length > 0 ? positionals : createInterface({ input: process.stdin })) {
  const { code, stdout, stderr } = await machine.run(command, { timeoutMs: 600_000 });
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  if (code !== 0) process.exitCode = code;
}
