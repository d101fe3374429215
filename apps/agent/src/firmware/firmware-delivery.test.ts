import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import { events as catalogue } from '@station/protocol/events';
import type { FirmwareReady } from '@station/protocol/firmware';
import { isForgeable } from '../core/forgeable.ts';
import { createFirmwareDelivery } from './firmware-delivery.ts';

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

async function handedOver(manifestUrl: string, keys: object | null): Promise<FirmwareReady> {
  const sent: FirmwareReady[] = [];
  const delivery = createFirmwareDelivery({
    backend: {
      deviceTypes: async () => ({ kind: 'ok', types: [] }),
      firmwareReady: async (firmware) => {
        sent.push(firmware);
        return { kind: 'ok' };
      },
      announceTypes: async () => ({ kind: 'ok' }),
    },
    source: { isForgeable: isForgeable(new URL(manifestUrl), keys) },
    clock: systemClock,
    logger: createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined }),
    checkIntervalMs: 60_000,
    random: () => 0,
  });
  assert.ok(await delivery.handOver(item, new AbortController().signal));
  return sent[0] ?? assert.fail();
}

test('firmware that somebody on the network could have changed is handed over for a person to approve', async () => {
  const forgeable = ['http://releases.test/firmware.json', 'http://192.168.1.2/f.json', 'http://127.0.0.1.example/f'];
  for (const url of forgeable) assert.equal((await handedOver(url, null)).needsApproval, true, url);
  const safe = ['https://releases.test/firmware.json', 'file:///media/usb/f.json', 'http://127.0.0.1:8/f.json'];
  for (const url of safe) assert.equal((await handedOver(url, null)).needsApproval, undefined, url);
  assert.equal((await handedOver('http://releases.test/firmware.json', {})).needsApproval, undefined, 'signed');
});
