import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Automation, AutomationRun } from '@station/protocol/automations';
import type { BackupView } from '@station/protocol/backup-api';
import type { ManualProvisionings, ProvisioningView } from '@station/protocol/provisioning';
import { describeError } from '@station/kit/station-error';
import { createImageStore } from './firmware/image-store.ts';
import { contentOf } from '../testing/firmware-station.ts';
import { chain, delay, node } from '../testing/automation-world.ts';
import { type AgentSays, jumpingStation, type JumpingStation } from '../testing/jumping-station.ts';
import { owner, refreshCookie } from '../testing/running-backend.ts';
import { addDevice, connectDevice } from '../testing/test-device.ts';
import { until } from '../testing/until.ts';

/**
 * One table: kinds of clock jumps, and what depends on time. Every wait of an hour begins at 0:00 of the monotonic clock; the clock jumps at
 * 0:20 and at 0:40.
 */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;
const noon = Date.UTC(2026, 10, 23, 12);

type Jump = { to: (trueMs: number) => number | null; says: AgentSays };
type Row = {
  name: string;
  /** The true time at 0:00; the clock shows `wallMs`. */
  trueMs: number;
  wallMs: number;
  says: AgentSays;
  jumps: [Jump, Jump];
  /** The true time is known in the end, so all that was written has it. */
  isHistoryTrue: boolean;
};

const stays = (says: AgentSays): Jump => ({ to: () => null, says });
const toTruth = (says: AgentSays): Jump => ({ to: (trueMs) => trueMs, says });
const ahead = (byMs: number, says: AgentSays): Jump => ({ to: (trueMs) => trueMs + byMs, says });

const rows: Row[] = [
  {
    name: 'nothing',
    trueMs: noon,
    wallMs: noon,
    says: 'right',
    isHistoryTrue: true,
    jumps: [stays('right'), stays('right')],
  },
  {
    name: '1970 at boot, right after 20 minutes',
    trueMs: noon,
    wallMs: 5_000,
    says: 'wrong',
    isHistoryTrue: true,
    jumps: [toTruth('right'), stays('right')],
  },
  {
    name: 'ten years ahead, which the agent notices, and back',
    trueMs: noon,
    wallMs: noon,
    says: 'right',
    isHistoryTrue: true,
    jumps: [ahead(10 * year, 'wrong'), toTruth('right')],
  },
  {
    name: 'ten years ahead by a wrong NTP server or person, and back',
    trueMs: noon,
    wallMs: noon,
    says: 'right',
    isHistoryTrue: true,
    jumps: [ahead(10 * year, 'right'), toTruth('right')],
  },
  {
    name: 'ten years ahead and back without an agent',
    trueMs: noon,
    wallMs: noon,
    says: null,
    isHistoryTrue: true,
    jumps: [ahead(10 * year, null), toTruth(null)],
  },
  {
    name: 'three years back by a wrong NTP server or person, and forward',
    trueMs: noon,
    wallMs: noon,
    says: 'right',
    isHistoryTrue: false,
    jumps: [ahead(-3 * year, 'right'), toTruth('right')],
  },
  {
    name: 'three years back and forward without an agent',
    trueMs: noon,
    wallMs: noon,
    says: null,
    isHistoryTrue: true,
    jumps: [ahead(-3 * year, null), toTruth(null)],
  },
  {
    name: 'the clock was three years ahead from the boot on, and is set right',
    trueMs: noon,
    wallMs: noon + 3 * year,
    says: 'right',
    isHistoryTrue: false,
    jumps: [toTruth('right'), stays('right')],
  },
  {
    name: 'the change to summer time',
    trueMs: Date.UTC(2027, 2, 28, 0, 30),
    wallMs: Date.UTC(2027, 2, 28, 0, 30),
    says: 'right',
    isHistoryTrue: true,
    jumps: [stays('right'), stays('right')],
  },
  {
    name: 'the change to winter time',
    trueMs: Date.UTC(2026, 9, 25, 0, 30),
    wallMs: Date.UTC(2026, 9, 25, 0, 30),
    says: 'right',
    isHistoryTrue: true,
    jumps: [stays('right'), stays('right')],
  },
  {
    name: 'a drift of 8 s in 20 minutes, then 12 s back',
    trueMs: noon,
    wallMs: noon,
    says: 'right',
    isHistoryTrue: false,
    jumps: [ahead(8_000, 'right'), ahead(-4_000, 'right')],
  },
];

/** Something that depends on time, on a station that runs. */
type Column = {
  /** A minute before the next one. */
  early?(): Promise<void>;
  /** Shortly before the first jump. */
  beforeJump?(): Promise<void>;
  /** After the first (0) and the second one (1). */
  afterJump?(jump: number): Promise<void>;
  /** Shortly before and after the waits of an hour end. */
  beforeHour?(): Promise<void>;
  afterHour?(): Promise<void>;
  end?(): PromiseLike<unknown>;
};
type World = { station: JumpingStation; row: Row; trueNow: () => number };
type Begin = (world: World) => Promise<Column>;

async function get<T>({ station }: World, url: string): Promise<T> {
  const { statusCode, body } = await station.call('GET', url);
  assert.equal(statusCode, 200, body);
  return JSON.parse(body) as T;
}

async function post<T>({ station }: World, url: string, payload: object = {}, expected = 201): Promise<T> {
  const { statusCode, body } = await station.call('POST', url, payload);
  assert.equal(statusCode, expected, body);
  return (body === '' ? null : JSON.parse(body)) as T;
}

const near = (actual: number, expected: number, toleranceMs: number, what: string): void =>
  assert.ok(Math.abs(actual - expected) <= toleranceMs, `${what}: ${(actual - expected) / 1000} s off`);

const delays: Begin = async (world) => {
  const flow = chain([
    node('never', 'trigger', 'schedule', { cron: '0 0 29 2 *' }),
    delay('wait', 3_600),
    node('message', 'action', 'notify', { message: 'It is over' }),
  ]);
  const { id } = await post<Automation>(world, '/api/automations', { name: 'Delay', flow });
  await post(world, `/api/automations/${id}/publish`, {}, 200);
  await post(world, `/api/automations/${id}/run`, {}, 202);
  const state = async (): Promise<string | undefined> =>
    (await get<AutomationRun[]>(world, `/api/automations/${id}/runs`)).find((run) => run.status !== 'skipped')?.status;
  const waits = async (): Promise<void> => assert.equal(await state(), 'waiting');
  return {
    afterJump: waits,
    beforeHour: waits,
    afterHour: async () => {
      assert.equal(await state(), 'completed');
      const { db } = world.station.running.backend;
      const { at } = await db
        .selectFrom('notifications')
        .select('at')
        .where('message', '=', 'It is over')
        .executeTakeFirstOrThrow();
      near(at, world.trueNow(), 2 * minute, 'the time of the notification');
    },
  };
};

const schedules: Begin = async (world) => {
  const flow = chain([
    node('cron', 'trigger', 'schedule', {
      cron: `${new Date(world.row.trueMs + 58 * minute).getUTCMinutes()} * * * *`,
    }),
    node('n', 'action', 'notify', { message: 'x' }),
  ]);
  const { id } = await post<Automation>(world, '/api/automations', { name: 'Schedule', flow });
  await post(world, `/api/automations/${id}/publish`, {}, 200);
  return {
    afterHour: async () => {
      const runs = await get<AutomationRun[]>(world, `/api/automations/${id}/runs`);
      const ran = runs.filter(({ status }) => status === 'completed').length;
      assert.equal(ran, 1, `${ran} runs: ${JSON.stringify(runs.map(({ status, reason }) => [status, reason]))}`);
      const next = (await get<Automation>(world, `/api/automations/${id}`)).nextRunAt ?? '';
      const leftMs = Date.parse(next) - world.trueNow();
      assert.ok(leftMs > -minute && leftMs <= 61 * minute, `the next run is in ${leftMs / minute} min`);
    },
  };
};

const provisionings: Begin = async (world) => {
  const [made] = await post<ManualProvisionings>(world, '/api/provisioning/manual', {
    devices: [{ externalId: 'new', type: 'light' }],
  });
  const state = async (): Promise<string | undefined> =>
    (await get<ProvisioningView>(world, '/api/provisioning')).provisionings.find(
      ({ id }) => id === made?.provisioning.id,
    )?.status;
  const waits = async (): Promise<void> => assert.equal(await state(), 'waiting');
  return {
    afterJump: waits,
    beforeHour: waits,
    afterHour: async () => {
      // A backend looks at least once a minute.
      assert.equal(await state(), 'timed_out');
    },
  };
};

/** A person who uses the station, and one who comes back after the jumps. */
const sessions: Begin = async (world) => {
  const { http, backend } = world.station.running;
  const logIn = () =>
    http.inject({ method: 'POST', url: '/api/auth/login', payload: { email: owner.email, password: owner.password } });
  const rotate = (cookie: string) => http.inject({ method: 'POST', url: '/api/auth/refresh', headers: { cookie } });
  const idle = refreshCookie(await logIn());
  let used = refreshCookie(await logIn());
  const works = async (): Promise<void> => {
    const answer = await rotate(used);
    assert.equal(answer.statusCode, 200, answer.body);
    used = refreshCookie(answer);
    const me = await http.inject({
      url: '/api/auth/me',
      headers: { authorization: `Bearer ${answer.json<{ accessToken: string }>().accessToken}` },
    });
    assert.equal(me.statusCode, 200, 'the new access token works');
  };
  return {
    afterJump: works,
    afterHour: async () => {
      await works();
      assert.equal((await rotate(idle)).statusCode, 200, 'a session that was not used meanwhile');
      const rows = await backend.db.selectFrom('sessions').select('expires_at').execute();
      for (const { expires_at: at } of rows) near(at, world.trueNow() + 30 * day, 2 * hour, 'the end of a session');
    },
  };
};

/** A guest whose access ends at 1:00 of the true time. */
const guests: Begin = async ({ station, row }) => {
  const endsMs = row.trueMs + hour;
  // On a clock that is years ahead this end has passed: it cannot be given.
  if (endsMs <= row.wallMs) return {};
  const zone = JSON.parse((await station.call('POST', '/api/zones', { name: 'Kitchen' })).body) as { id: string };
  const account = { email: 'guest@example.org', password: 'a long enough password' };
  const rights = { role: 'guest', zoneIds: [zone.id], endsAt: new Date(endsMs).toISOString() };
  const made = await station.call('POST', '/api/station/members', { ...account, name: 'Taras', ...rights });
  assert.equal(made.statusCode, 201, made.body);
  const logIn = async (): Promise<number> =>
    (await station.running.http.inject({ method: 'POST', url: '/api/auth/login', payload: account })).statusCode;
  return {
    early: async () => assert.equal(await logIn(), 200),
    beforeHour: async () => assert.equal(await logIn(), 200, 'a guest before the end'),
    afterHour: async () => assert.equal(await logIn(), 403, 'a guest after the end'),
  };
};

const throttling: Begin = async ({ station: { running } }) => {
  const attempt = async (): Promise<number> => {
    const payload = { email: 'nobody@example.org', password: 'a wrong password' };
    return (await running.http.inject({ method: 'POST', url: '/api/auth/login', payload })).statusCode;
  };
  return {
    early: async () => {
      for (let count = 0; count < 5; count++) assert.equal(await attempt(), 401);
      assert.equal(await attempt(), 429);
    },
    beforeJump: async () => {
      assert.equal(await attempt(), 401, 'free again after 30 seconds');
      assert.equal(await attempt(), 429);
    },
    afterJump: async (jump) => {
      if (jump === 0) assert.equal(await attempt(), 429, 'the second delay is a minute');
      else assert.equal(await attempt(), 401, 'free again');
    },
  };
};

/** A device that reports all the time, and gets a command right before the first jump. */
const devices: Begin = async (world) => {
  const { backend } = world.station.running;
  const login = await addDevice(backend.db, 'hall', 'light');
  const lamp = await connectDevice(backend.mqttAddress ?? '', login);
  const sent: { value: number; trueMs: number }[] = [];
  const report = async (value: number): Promise<void> => {
    await lamp.publish('state', { state: { brightness: value } });
    sent.push({ value, trueMs: world.trueNow() });
  };
  const shown = async () =>
    get<{ state: { brightness?: number }; lastSeenAt: string }>(world, `/api/devices/${login.id}`);
  await report(1);
  return {
    beforeJump: async () => {
      await report(2);
      await post(world, `/api/devices/${login.id}/command`, { action: 'turn_on' }, 202);
    },
    afterJump: async (jump) => {
      if (jump === 0) {
        const pending = await backend.db
          .selectFrom('device_commands')
          .where('device_id', '=', login.id)
          .select(['id', 'status'])
          .execute();
        assert.deepEqual(
          pending.map(({ status }) => status),
          ['pending'],
          'the command waits for its answer',
        );
        await lamp.publish('event', {
          event: 'device_event',
          data: { action: 'command_ack', commandId: pending[0]?.id },
        });
        await until('the command is confirmed', async () => {
          const row = await backend.db
            .selectFrom('device_commands')
            .where('device_id', '=', login.id)
            .select('status')
            .executeTakeFirst();
          return row?.status !== 'pending';
        });
        const row = await backend.db
          .selectFrom('device_commands')
          .where('device_id', '=', login.id)
          .select('status')
          .executeTakeFirst();
        assert.equal(row?.status, 'confirmed');
      }
      await report(3 + jump);
      assert.equal((await shown()).state.brightness, 3 + jump, 'a new value is taken');
    },
    afterHour: async () => {
      await report(5);
      near(Date.parse((await shown()).lastSeenAt), world.trueNow(), 30_000, 'last seen');
      await until('the history is corrected', async () => {
        await world.station.machine.advance(1_000);
        return (await world.station.clock()).provisionalSince === null;
      });
      if (!world.row.isHistoryTrue) return;
      await backend.settle();
      const rows = await backend.db.selectFrom('device_samples').select(['value', 'at']).orderBy('value').execute();
      assert.deepEqual(
        rows.map(({ value }) => value),
        [1, 2, 3, 4, 5],
      );
      for (const { value, at } of rows) {
        near(at, sent.find((one) => one.value === value)?.trueMs ?? 0, 20_000, `the sample ${value}`);
      }
    },
    end: () => lamp[Symbol.asyncDispose](),
  };
};

/** A device whose update failed once, and is to be tried again after a pause of an hour. */
const firmware: Begin = async (world) => {
  const { backend } = world.station.running;
  const { db } = backend;
  const lamp = await connectDevice(backend.mqttAddress ?? '', await addDevice(db, 'updated', 'climate'));
  const handshake = { type: 'climate', firmwareVersion: '1.0.0', chip: 'esp32' };
  await lamp.publish('handshake', handshake);
  await createImageStore({ db, clock: world.station.machine }).put(contentOf('1.1.0'));
  await post(world, '/api/firmware/rollouts', { type: 'climate', version: '1.1.0' });
  const target = () => db.selectFrom('firmware_targets').selectAll().executeTakeFirstOrThrow();
  await until('the update begins', async () => {
    await world.station.machine.advance(100);
    return (await target()).state === 'updating';
  });
  await lamp.publish('event', { event: 'device_event', data: { action: 'ota_failed', reason: 'checksum' } });
  await until('it failed', async () => {
    await world.station.machine.advance(100);
    return (await target()).failures === 1;
  });
  const { changed_at: failedAt } = await target();
  await db
    .updateTable('firmware_targets')
    .set({ not_before: failedAt + hour })
    .execute();
  const waits = async (): Promise<void> => {
    const { state, failures, interruptions } = await target();
    assert.deepEqual([state, failures, interruptions], ['waiting', 1, 0]);
  };
  return {
    afterJump: waits,
    beforeHour: waits,
    afterHour: async () => assert.notEqual((await target()).started_at, null, 'it was tried again'),
    end: () => lamp[Symbol.asyncDispose](),
  };
};

const backups: Begin = async (world) => {
  const settings = { nightly: true, at: '03:00', keep: { daily: 7, weekly: 4 }, folder: false, webdav: null };
  const { statusCode, body } = await world.station.call('PUT', '/api/backup/settings', {
    ...settings,
    passphrase: 'four plain words here',
  });
  assert.ok(statusCode < 300, body);
  return {
    afterHour: async () => {
      const { nextAt } = await get<BackupView>(world, '/api/backup');
      const leftMs = Date.parse(nextAt ?? '') - world.trueNow();
      assert.ok(leftMs > -minute && leftMs <= 25 * hour, `the next backup is in ${leftMs / hour} h`);
    },
  };
};

const clocks: Begin = async (world) => ({
  afterHour: async () => {
    const { trusted, now } = await world.station.clock();
    near(Date.parse(now), world.trueNow(), 30_000, 'the time of the station');
    assert.ok(trusted, 'the time is known to be right');
  },
});

const columns = { delays, schedules, provisionings, sessions, guests, throttling, devices, firmware, backups, clocks };

for (const row of rows) {
  test(`a clock that jumps: ${row.name}`, async () => {
    await using station = await jumpingStation(row.wallMs, row.says);
    const startedMs = station.machine.monotonic();
    const trueNow = (): number => row.trueMs + station.machine.monotonic() - startedMs;
    const world = { station, row, trueNow };
    const begun = new Map<string, Column>();
    for (const [name, begin] of Object.entries(columns)) begun.set(name, await begin(world));
    // All faults of a row are shown, not only the first.
    const faults: string[] = [];
    const each = async (step: keyof Column, jump = 0): Promise<void> => {
      for (const [name, column] of begun) {
        try {
          await column[step]?.(jump);
        } catch (error) {
          faults.push(`${name} ${step} ${jump}: ${describeError(error).replaceAll(/\s+/g, ' ')}`);
        }
      }
    };
    await station.passTo(18 * minute);
    await each('early');
    await station.passTo(19 * minute);
    await each('beforeJump');
    for (const [index, { to, says }] of row.jumps.entries()) {
      if (index === 1) await station.passTo(40 * minute);
      await station.jump(to(trueNow()), says);
      await each('afterJump', index);
    }
    await station.passTo(58.25 * minute);
    await each('beforeHour');
    await station.passTo(62 * minute);
    await each('afterHour');
    await each('end');
    assert.deepEqual(faults, []);
  });
}
