import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@station/kit/clock';
import type { RadioReport } from '@station/protocol/provisioning';
import { createDeviceEvents } from '../core/device-events.ts';
import { alwaysLeader } from '../core/leadership.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { advertisement } from '../../testing/remote-helper.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';
import { startHelperProcess } from './adapters/ble-helper-process.ts';
import { startRadio } from './radio.ts';

/** A radio whose helper runs `source` after it said that it is ready. `sent`: what browsers are told of the radio. */
async function radioOf(source: string) {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const program = join(folder.path, 'helper.mjs');
  await writeFile(program, `console.log('{"event":"ready"}'); process.stdin.resume();\n${source}`);
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const sent: RadioReport[] = [];
  opened.use(
    events.subscribe((event) => {
      if (event.kind === 'message' && event.message.type === 'provisioning_radio') sent.push(event.message.radio);
    }),
  );
  opened.use(
    await startRadio({
      serviceUuid: advertisement().service_uuids[0]!,
      startProcess: (listener) => startHelperProcess({ program, environment: {}, ...listener }),
      askForPause: async () => null,
      watchers: { isWatched: () => true, subscribe: () => ({ [Symbol.dispose]: () => undefined }) },
      leadership: alwaysLeader,
      hub: { replay: () => ({ [Symbol.dispose]: () => undefined }) },
      events,
      devices: { list: async () => [] },
      types: { find: () => undefined },
      clock: systemClock,
      random: () => 0,
      logger,
    }),
  );
  const running = opened.move();
  return { sent, logger, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

const changing = {
  'the scan': `for (let at = 0; at < 5_000; at++) console.log('{"event":"scan_started"}\\n{"event":"scan_stopped"}');`,
  'the radio': `for (let at = 0; at < 5_000; at++)
    console.error('{"note":"radio","state":"ready"}\\n{"note":"radio","state":"adapter_off"}');`,
};

for (const [what, source] of Object.entries(changing)) {
  test(`a helper that changes ${what} without a pause tells the browsers little, and its last word`, async () => {
    await using radio = await radioOf(`${source} console.error('{"note":"radio","state":"adapter_blocked"}');`);
    await until('the last state is told', () => radio.sent.at(-1)?.reason === 'adapter_blocked');
    assert.ok(radio.sent.length < 100, `${radio.sent.length} messages`);
  });
}

test('a helper that writes long lines without a pause is read slowly', async () => {
  const seconds = 2;
  await using radio = await radioOf(`
    const lines = ('{"event":"x","a":' + '['.repeat(30_000) + ']'.repeat(30_000) + '}\\n').repeat(16);
    let written = 0;
    const write = () => {
      do written += lines.length; while (process.stdout.write(lines));
    };
    process.stdout.on('drain', write);
    write();
    setTimeout(() => {
      console.error(JSON.stringify({ note: 'log', message: String(written) }));
    }, ${seconds * 1_000});`);
  await sleep(seconds * 1_000);
  await until('it tells how much was read', () => radio.logger.events('ble_helper_note').length > 0);
  const written = Number(radio.logger.events('ble_helper_note')[0]?.['message']);
  assert.ok(written < (seconds + 1) * 6 * 2 ** 20, `${written} bytes in ${seconds} s`);
});
