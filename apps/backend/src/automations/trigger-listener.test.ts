import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createDeviceEvents } from '../core/device-events.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { until } from '../../testing/until.ts';
import type { Start } from './run-rows.ts';
import { listenForTriggers, type TriggerListenerParts } from './trigger-listener.ts';

test('an event that starts many automations lets other work be done in between', async () => {
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const data = { kind: 'device_event_received', config: { deviceId: 'button' } };
  const armed = Array.from({ length: 200 }, (_, index) => ({ automation: { id: `a${index}` }, nodeId: 'n', data }));
  const started: string[] = [];
  using _listening = listenForTriggers({
    events,
    registry: { ofDevice: () => armed as never },
    runner: { start: async ({ automation }: Start) => void started.push(automation.id) },
    newId: () => 'id',
    clock: manualClock(),
    logger,
  } as unknown as TriggerListenerParts);
  const press = {
    kind: 'event',
    deviceId: 'button',
    at: 1,
    eventKind: 'user_event',
    data: { action: 'press' },
  } as const;
  events.emit({ kind: 'reports', reports: [press], before: new Map() });
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  assert.ok(started.length <= 6, `${started.length} in five turns`);
  await until('all are started', () => started.length === armed.length);
  assert.deepEqual(
    started,
    armed.map(({ automation }) => automation.id),
    'in order',
  );
});
