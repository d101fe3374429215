import { join } from 'node:path';
import { runAgent } from '@station/agent/run-agent';
import { createProcessEngine } from '../process-engine/process-engine.ts';
import { createHomeRadio } from '../wifi/home.ts';

/**
 * The agent on the process engine, as a separate program. It reads the agent's variables and can be killed and restarted.
 * Arguments: the folder for images, logs and the list of containers, by default one in DATA_DIR; `wifi` for a simulated Wi-Fi.
 */
const [engineFolder, wifi] = process.argv.slice(2);

process.exitCode = await runAgent({
  ...(wifi === 'wifi' && { createRadio: createHomeRadio }),
  createEngine: ({ dataDir, release, stack }, { overrideFile }) =>
    createProcessEngine({
      directory: engineFolder ?? join(dataDir, 'process-engine'),
      // The registry of the process engine is a folder beside the manifest.
      registry: new URL('images/', release.manifestUrl),
      composeFile: join(stack.projectPath, stack.composeFile),
      overrideFile,
    }),
});
