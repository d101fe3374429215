import { systemClock } from '@station/kit/clock';
import { runUntilSignal } from '@station/kit/lifecycle';
import { createNoteWriter } from './frame-writer.ts';
import { startHelper } from './helper.ts';

/** For a BlueZ or a backend that hangs. BlueZ ends the discovery of a program that has left the bus. */
const stopDeadlineMs = 1_800;

const note = createNoteWriter(process.stderr);
process.on('uncaughtExceptionMonitor', (error) => note({ note: 'log', message: `unexpected ${error.name}` }));
// The backend is gone: what is left to say interests nobody.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

process.exitCode = await runUntilSignal(async ({ signal, stop }) => {
  signal.addEventListener('abort', () => setTimeout(() => process.exit(0), stopDeadlineMs).unref());
  process.stdin.on('end', () => stop(0)).on('error', () => stop(0));
  return startHelper({
    input: process.stdin,
    output: process.stdout,
    note,
    clock: systemClock,
    busAddress: process.env['DBUS_SYSTEM_BUS_ADDRESS'] || null,
    adapter: process.env['BLE_ADAPTER'] || null,
  });
});
// Standard input stays open until the backend closes it.
process.stdin.destroy();
