import { dirname } from 'node:path';
import { events } from '@station/protocol/events';
import { systemClock } from '@station/kit/clock';
import { runUntilSignal } from '@station/kit/lifecycle';
import { createLogger } from '@station/kit/logger';
import type { Simulated } from './agent-features.ts';
import { startAgent } from './agent.ts';
import { loadConfig } from './config.ts';

/** Exit code of a configuration fault (sysexits.h, EX_CONFIG; contracts, section 3). */
export const exitConfig = 78;

/**
 * Reads the configuration and runs the agent until a signal ends it.
 * @param options what simulators replace: the engine, the radio.
 * @returns the exit code of the process.
 */
export async function runAgent(options: Simulated = {}): Promise<number> {
  const write = (line: string): void => void process.stdout.write(line);
  const reading = await loadConfig({ directory: dirname(process.execPath) });
  const logger = createLogger({ catalogue: events, clock: systemClock, write, level: 'info', secrets: [] });
  for (const problem of reading.warnings) logger.event('config_warning', { problem });
  if (reading.kind === 'invalid') {
    logger.event('config_invalid', { problems: reading.problems });
    return exitConfig;
  }
  try {
    return await runUntilSignal(async ({ signal }) => startAgent(reading.config, { ...options, signal, write }));
  } catch (error) {
    logger.failed('start', error);
    return 1;
  }
}
