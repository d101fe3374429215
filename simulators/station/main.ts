import { join } from 'node:path';
import { runUntilSignal } from '@station/kit/lifecycle';
import { readStationConfig } from './config.ts';
import { createPrinter } from './printer.ts';
import { StartFailure, startStation } from './station.ts';

const printer = createPrinter(process.stdout);
const reading = readStationConfig(join(import.meta.dirname, '../..'));

if (reading.kind === 'invalid') {
  for (const problem of reading.problems) printer.line(problem);
  process.exitCode = 78;
} else {
  try {
    process.exitCode = await runUntilSignal(async ({ signal, stop }) => {
      signal.addEventListener('abort', () => printer.line('Stopping …'), { once: true });
      const onAgentEnd = (message: string): void => {
        printer.line(message);
        stop(1);
      };
      return startStation(reading.config, { printer, signal, onAgentEnd });
    });
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    printer.line(error.message);
    process.exitCode = 1;
  }
}
