import assert from 'node:assert/strict';
import { systemClock } from '@station/kit/clock';
import type { DeviceReport } from '../core/device-events.ts';
import { createEventIds } from '../core/event-ids.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { writeReports } from '../history/report-store.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { testOnSqlite } from '../../testing/test-postgres.ts';

const now = Date.now();
const reports = (deviceId: string): DeviceReport[] => [
  { kind: 'state', deviceId, at: now - 20_000, state: { temperature: 20.5, open: false } },
  { kind: 'state', deviceId, at: now - 10_000, state: { temperature: 21, open: true } },
  { kind: 'event', deviceId, at: now - 5_000, eventKind: 'device_event', data: { action: 'pressed' } },
];

testOnSqlite(
  'the thread of large reads answers as the backend itself does, and sees what was just written',
  async () => {
    const answers: string[][] = [];
    for (const hasThreads of [false, true]) {
      await using running = await runBackend({ hasThreads });
      const headers = bearer((await running.setUp()).accessToken);
      const { db } = running.backend;
      const devices = createDeviceStore({ db, clock: systemClock });
      const from = new Date(now - 60_000).toISOString();
      const to = new Date(now - 1_000).toISOString();
      const seen: string[] = [];
      for (const name of ['Hall', 'Porch']) {
        const { id } = await devices.provision({ externalId: `id-${name}`, type: 'climate', name, zoneId: null });
        await writeReports({ db, kind: 'sqlite' }, reports(id), createEventIds(Date.now));
        for (const url of [
          '/api/devices',
          '/api/activity?about=devices',
          `/api/devices/${id}/events?limit=1`,
          `/api/devices/${id}/history?capability=temperature&from=${from}&to=${to}`,
          `/api/devices/${id}/history?capability=open&from=${from}&to=${to}`,
          '/api/devices?after=wrong',
        ]) {
          const { statusCode, headers: answered, body } = await running.http.inject({ url, headers });
          const told = `${statusCode} ${answered['content-type']} ${String(answered['link'] ?? '')} ${body}`;
          // Ids, the time at which a device was added, and the present.
          seen.push(told.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id').replaceAll(/"(createdAt|to)":"[^"]+"/g, ''));
        }
      }
      answers.push(seen);
      assert.deepEqual(running.logger.events('unexpected_error'), []);
    }
    const [inPlace, inThread] = answers;
    assert.deepEqual(inThread, inPlace);
    assert.match(inThread!.join('\n'), /pressed/);
  },
);
