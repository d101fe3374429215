/** Starts a rig with a running stack, prints its folder and waits to be ended: what `rig.test.ts` interrupts and kills. */
import { createSmallRig } from './small-rig.ts';

await using rig = await createSmallRig();
await rig.stack.writeProject(await rig.release({ version: '1.0.0' }));
await rig.stack.up();
process.stdout.write(`${rig.workspace.folder}\n`);
await new Promise(() => setInterval(() => undefined, 60_000));
