import { dirname } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { runUntilSignal } from '@station/kit/lifecycle';
import { createReport } from '@station/kit/report';
import { describeError } from '@station/kit/station-error';
import { startAgent } from './agent.ts';
import { loadConfig } from './config.ts';

/** Exit code of a configuration fault (sysexits.h, EX_CONFIG; contracts, section 3). */
const exitConfig = 78;

const write = (line: string): void => void process.stdout.write(line);
const reading = await loadConfig({ directory: dirname(process.execPath) });
const report = createReport({ clock: systemClock, write, level: 'info', secrets: [] });
for (const problem of reading.warnings) report.event('config_warning', { problem });
if (reading.kind === 'invalid') {
  report.event('config_invalid', { problems: reading.problems });
  process.exitCode = exitConfig;
} else {
  try {
    process.exitCode = await runUntilSignal(async ({ signal }) => startAgent(reading.config, { signal, write }));
  } catch (error) {
    report.event('unexpected_error', { where: 'start', message: describeError(error) });
    process.exitCode = 1;
  }
}
