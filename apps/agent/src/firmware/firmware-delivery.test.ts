import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import { events as catalogue } from '@station/protocol/events';
import type { FirmwareReady } from '@station/protocol/firmware';
import { isForgeable } from '../core/loopback.ts';
import { createFirmwareDelivery } from './firmware-delivery.ts';
import type { OtaBackend } from './firmware-ports.ts';

const item = {
  name: 'light',
  version: '1.0.0',
  file: 'light@1.0.0.bin',
  path: '/firmware/light@1.0.0.bin',
  checksum: `sha256:${'a'.repeat(64)}`,
  size: 1_000,
  downloadedAt: '2026-11-26T00:00:00.000Z',
  chip: null,
  project: null,
  minVersion: null,
};

function createDelivery(backend: Partial<OtaBackend>, needsApproval = false) {
  return createFirmwareDelivery({
    backend: {
      deviceTypes: async () => ({ kind: 'ok', types: [] }),
      firmwareReady: async () => ({ kind: 'ok' }),
      announceTypes: async () => ({ kind: 'ok' }),
      ...backend,
    },
    needsApproval: () => needsApproval,
    clock: systemClock,
    logger: createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined }),
    checkIntervalMs: 60_000,
    random: () => 0,
  });
}

const { signal } = new AbortController();

async function handedOver(manifestUrl: string, keys: object | null): Promise<FirmwareReady> {
  const sent: FirmwareReady[] = [];
  const firmwareReady: OtaBackend['firmwareReady'] = async (firmware) => {
    sent.push(firmware);
    return { kind: 'ok' };
  };
  const delivery = createDelivery({ firmwareReady }, isForgeable(new URL(manifestUrl), keys));
  assert.ok(await delivery.handOver(item, signal));
  return sent[0] ?? assert.fail();
}

type TypesAnswer = Awaited<ReturnType<OtaBackend['deviceTypes']>>;
const answers: Record<string, TypesAnswer> = {
  'was read': { kind: 'ok', types: [] },
  'could not be read': { kind: 'failed', reason: 'away' },
};
for (const [name, answer] of Object.entries(answers)) {
  test(`a check that is asked for while the backend's record ${name} is not forgotten`, async () => {
    const { promise, resolve } = Promise.withResolvers<TypesAnswer>();
    const delivery = createDelivery({ deviceTypes: () => promise });
    const asking = delivery.ask({ isPending: false, deviceTypes: [] }, signal);
    delivery.hurry();
    resolve(answer);
    await asking;
    assert.equal(delivery.askDueMs(), -Infinity);
    await delivery.ask({ isPending: false, deviceTypes: [] }, signal);
    assert.ok(delivery.askDueMs() > systemClock.monotonic(), 'and is done once');
  });
}

test('a check that is asked for while a hand-over fails tries it again at once', async () => {
  const { promise, resolve } = Promise.withResolvers<{ kind: 'failed'; reason: string }>();
  const delivery = createDelivery({ firmwareReady: () => promise });
  const handing = delivery.handOver(item, signal);
  delivery.hurry();
  resolve({ kind: 'failed', reason: 'away' });
  assert.equal(await handing, false);
  assert.deepEqual(
    [...delivery.attempts().values()].map(({ dueMs }) => dueMs),
    [-Infinity],
  );
});

test('firmware that somebody on the network could have changed is handed over for a person to approve', async () => {
  const forgeable = ['http://releases.test/firmware.json', 'http://192.168.1.2/f.json', 'http://127.0.0.1.example/f'];
  for (const url of forgeable) assert.equal((await handedOver(url, null)).needsApproval, true, url);
  const safe = ['https://releases.test/firmware.json', 'file:///media/usb/f.json', 'http://127.0.0.1:8/f.json'];
  for (const url of safe) assert.equal((await handedOver(url, null)).needsApproval, undefined, url);
  assert.equal((await handedOver('http://releases.test/firmware.json', {})).needsApproval, undefined, 'signed');
});
