import { join } from 'node:path';
import { runAgent } from '@station/agent/run-agent';
import { createProcessEngine } from '../process-engine/process-engine.ts';

/**
 * The agent on the process engine, as a separate program. It reads the agent's variables and can be killed and restarted.
 * Its only argument is the folder for images, logs and the list of containers; by default one in DATA_DIR.
 */
const [engineFolder] = process.argv.slice(2);

process.exitCode = await runAgent({
  createEngine: ({ dataDir, release, stack }, { overrideFile }) =>
    createProcessEngine({
      directory: engineFolder ?? join(dataDir, 'process-engine'),
      // The registry of the process engine is a folder beside the manifest.
      registry: new URL('images/', release.manifestUrl),
      composeFile: join(stack.projectPath, stack.composeFile),
      overrideFile,
    }),
});
