/** Starts a machine, prints the workspace's folder and waits to be ended: what `machine.test.ts` kills. */
import { createWorkspace } from '../rig/workspace.ts';
import { createSurroundings } from './surroundings.ts';

await using workspace = await createWorkspace();
const surroundings = await createSurroundings(workspace);
await surroundings.start(await surroundings.bareDisk());
process.stdout.write(`${workspace.folder}\n`);
await new Promise(() => setInterval(() => undefined, 60_000));
