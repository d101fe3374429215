/**
 * Preloaded into a backend (`--expose-gc --import`): at SIGUSR2 all garbage is collected, and what is left is written, in
 * bytes, to the file in LIVE_MEMORY_FILE. What a process has before that says more about when V8 collects than about leaks.
 */
import { renameSync, writeFileSync } from 'node:fs';

const file = process.env['LIVE_MEMORY_FILE'];
const collect = globalThis.gc;
if (file === undefined || collect === undefined) throw new Error('LIVE_MEMORY_FILE and --expose-gc are needed');

process.on('SIGUSR2', () => {
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(`${file}.new`, String(heapUsed + external));
  renameSync(`${file}.new`, file);
});
