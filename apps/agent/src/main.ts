import { runAgent } from './run-agent.ts';

process.exitCode = await runAgent();
