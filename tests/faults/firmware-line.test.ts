import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { AgentEvent } from '@station/protocol/events';
import type { Fault } from '@station/simulators/firmware/firmware-server';
import { buildImage } from '@station/simulators/firmware/image-builder';
import { waitFor } from '../rig/program.ts';
import { createDuty, type Duty } from './firmware-duty.ts';

const size = 400_000;
const imageOf = (version: string, bytes = size): Uint8Array => buildImage({ project: 'lamp', version, bytes });
const file = 'lamp-1.0.0.bin';
const reasonsOf = (events: readonly AgentEvent[]): string[] =>
  events.flatMap((event) => ('reason' in event && event.reason !== null ? [event.reason] : []));
const sentBytes = (duty: Duty): number =>
  duty.server.requests.filter(({ path }) => path.endsWith('.bin')).reduce((sum, each) => sum + each.sentBytes, 0);

/** Checks that lamp 1.0.0 has arrived. */
async function assertArrived(duty: Duty, version = '1.0.0'): Promise<void> {
  await duty.until('firmware_handed_over');
  assert.ok((await readFile(join(duty.cacheDir, `lamp@${version}.bin`))).equals(imageOf(version)), 'byte for byte');
  const shown = (): unknown[] =>
    duty
      .firmware()
      .status()
      .items.map((item) => [item.version, item.chip, item.handedOver, item.size]);
  // After a restart it was handed over before, so the event says nothing of the present check.
  await waitFor('the hand-over', () => isDeepStrictEqual(shown(), [[version, 'esp32', true, size]])).catch(() =>
    assert.deepEqual(shown(), [[version, 'esp32', true, size]]),
  );
  assert.deepEqual((await readdir(duty.cacheDir)).sort(), ['lamp.json', `lamp@${version}.bin`]);
}

describe('a download', () => {
  it('that is cut again and again resumes: at most 5 % is sent twice', async () => {
    await using duty = await createDuty();
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    duty.server.setFault(file, { kind: 'cut', afterBytes: 90_000 }, 4);
    await duty.start();
    await duty.until('firmware_download_failed');
    for (let cut = 2; cut <= 4; cut += 1) await duty.checkUntil('firmware_download_failed');
    await duty.checkUntil('firmware_ready');
    await assertArrived(duty);
    const downloads = duty.server.requests.filter(({ path }) => path.endsWith('.bin'));
    assert.deepEqual(
      downloads.map(({ status }) => status),
      [200, 206, 206, 206, 206],
    );
    assert.ok(downloads.slice(1).every(({ ifRange }) => ifRange !== null));
    assert.ok(sentBytes(duty) <= size * 1.05, `${sentBytes(duty)} of ${size}`);
  });

  it('resumes after the agent ended during it', async () => {
    await using duty = await createDuty({ bytesPerSecond: 400_000 });
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    for (const percent of [20, 45, 70]) {
      await duty.start();
      const progress = (): number => duty.firmware().status().download?.progress.percent ?? 0;
      await waitFor(`${percent} %`, () => progress() >= percent);
      await duty.stop();
    }
    await duty.start();
    await duty.until('firmware_ready');
    await assertArrived(duty);
    assert.ok(sentBytes(duty) <= size * 1.05 + 4 * 65_536, `${sentBytes(duty)} of ${size}`);
    const starts = duty.events.filter(({ event }) => event === 'firmware_download_start');
    assert.equal(starts.length, 4);
  });

  for (const [name, fault] of Object.entries<Fault>({
    'ignores ranges': { kind: 'no_ranges' },
    'sends a new ETag each time': { kind: 'new_etag' },
    'does not name its content': { kind: 'no_etag' },
    'sends another part than requested': { kind: 'wrong_range' },
  })) {
    it(`arrives completely from a server that ${name}`, async () => {
      await using duty = await createDuty();
      duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
      duty.server.setFault(file, { kind: 'cut', afterBytes: 150_000 }, 1);
      await duty.start();
      await duty.until('firmware_download_failed');
      duty.server.setFault(file, fault);
      if (fault.kind === 'wrong_range') await duty.checkUntil('firmware_download_failed');
      await duty.checkUntil('firmware_ready');
      await assertArrived(duty);
    });
  }

  it('whose parts do not match is fetched again as a whole', async () => {
    await using duty = await createDuty();
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    duty.server.setFault(file, { kind: 'cut', afterBytes: 150_000 }, 1);
    await duty.start();
    await duty.until('firmware_download_failed');
    duty.server.setFault(file, { kind: 'wrong_bytes' }, 1);
    await duty.checkUntil('firmware_ready');
    await assertArrived(duty);
  });

  for (const [name, [fault, reason]] of Object.entries<[Fault, RegExp]>({
    'has nothing': [{ kind: 'status', status: 404 }, /answered 404/],
    fails: [{ kind: 'status', status: 500 }, /answered 500/],
    'stops sending': [{ kind: 'stall', afterBytes: 50_000 }, /no data/],
    'redirects without end': [{ kind: 'redirect', location: file }, /redirected too often/],
  })) {
    it(`from a server that ${name} is retried later`, async () => {
      await using duty = await createDuty({ silenceMs: 2_000 });
      duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
      duty.server.setFault(file, fault, fault.kind === 'redirect' ? 6 : 1);
      await duty.start();
      const failed = await duty.until('firmware_download_failed');
      assert.match(reasonsOf([failed])[0] ?? '', reason);
      assert.match(duty.firmware().status().lastError ?? '', reason);
      await duty.checkUntil('firmware_ready');
      await assertArrived(duty);
      assert.equal(duty.firmware().status().lastError, null);
    });
  }

  for (const [name, [fault, reason]] of Object.entries<[Fault, RegExp]>({
    'other bytes': [{ kind: 'wrong_bytes' }, /checksum/],
    'bytes without end': [{ kind: 'endless' }, /longer than 400000/],
    'a redirect to a file of this machine': [
      { kind: 'redirect', location: 'file:///etc/hostname' },
      /redirected to another scheme/,
    ],
  })) {
    it(`that is answered with ${name} reaches no device and shows its reason`, async () => {
      await using duty = await createDuty();
      duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
      duty.server.setFault(file, fault);
      await duty.start();
      assert.match(reasonsOf([await duty.until('firmware_refused')])[0] ?? '', reason);
      const status = duty.firmware().status();
      assert.match(status.refused?.[0]?.reason ?? '', reason);
      assert.match(status.lastError ?? '', reason);
      await waitFor('the condition', () => duty.conditions().includes('firmware_refused'));
      assert.deepEqual(
        (await readdir(duty.cacheDir)).filter((each) => each.endsWith('.bin')),
        [],
      );
      duty.server.setFault(file, null);
      await duty.checkUntil('firmware_handed_over');
      await assertArrived(duty);
      await waitFor('no condition', () => duty.conditions().length === 0);
    });
  }

  it('pauses during an update of the stack', async () => {
    let isTaken = false;
    await using duty = await createDuty({ bytesPerSecond: 400_000, isLineTaken: () => isTaken });
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    const done = (): number => duty.firmware().status().download?.progress.doneBytes ?? 0;
    await waitFor('some of it', () => done() > 50_000);
    isTaken = true;
    // Data in transit still arrives, then nothing, although the server has more.
    let last = -1;
    await waitFor('a pause', async () => {
      const before = last;
      last = done();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return before === last && done() === last;
    });
    assert.ok(last > 0 && last < size, `${last}`);
    assert.ok(!duty.events.some(({ event }) => event === 'firmware_download_done'));
    isTaken = false;
    await duty.until('firmware_ready');
    await assertArrived(duty);
    assert.equal(sentBytes(duty), size);
  });
});

describe('what must not be published', () => {
  const cases: Record<string, [(duty: Duty) => void, RegExp]> = {
    'an image for another chip than the manifest says': [
      (duty) => void duty.server.offer('lamp', '1.1.0', imageOf('1.1.0'), { chip: 'ESP32-C3' }),
      /for esp32 instead of esp32c3/,
    ],
    'an image for another chip than the version before': [
      (duty) =>
        void duty.server.offer('lamp', '1.1.0', buildImage({ project: 'lamp', version: '1.1.0', chip: 'esp32s3' })),
      /for esp32s3, but the previous version is for esp32/,
    ],
    'a file that is not an image': [
      (duty) => void duty.server.offer('lamp', '1.1.0', Buffer.from('<html>Sign in</html>')),
      /a page of text/,
    ],
    'a file of another length than the manifest says': [
      (duty) => {
        duty.server.offer('lamp', '1.1.0', imageOf('1.1.0'));
        duty.server.edit('lamp', { size: size - 1 });
      },
      /400000 bytes of it, the manifest says 399999/,
    ],
    'a file of 1 GB': [
      (duty) => {
        duty.server.offer('lamp', '1.1.0', imageOf('1.1.0'));
        duty.server.edit('lamp', { size: 2 ** 30 });
      },
      /larger than/,
    ],
    'a lower version': [
      (duty) => void duty.server.offer('lamp', '0.9.0', imageOf('0.9.0')),
      /not newer than the cached 1.0.0/,
    ],
    'other content for the cached version': [
      (duty) => void duty.server.offer('lamp', '1.0.0', imageOf('1.0.0', size + 400)),
      /other content/,
    ],
    'a path outside the folder': [
      (duty) => void duty.server.edit('lamp', { version: '1.1.0', file: '../../../etc/passwd' }),
      /leads outside/,
    ],
    'one name twice': [
      (duty) => {
        const { version, file: named, checksum } = duty.server.offer('lamp', '1.1.0', imageOf('1.1.0'));
        const entry = { type: 'lamp', version, file: named, checksum };
        duty.server.setManifest({ types: [entry, entry] });
      },
      /more than once/,
    ],
  };
  for (const [name, [publish, reason]] of Object.entries(cases)) {
    it(`is ${name}: keeps the previous version and shows its reason`, async () => {
      await using duty = await createDuty();
      duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
      await duty.start();
      await duty.until('firmware_handed_over');
      publish(duty);
      assert.match(reasonsOf(await duty.checkUntil('firmware_refused')).join(), reason);
      assert.match(
        duty
          .firmware()
          .status()
          .refused?.map((each) => each.reason)
          .join() ?? '',
        reason,
      );
      await waitFor('a condition', () =>
        duty.conditions().some((id) => /firmware_(refused|manifest_rejected)/.test(id)),
      );
      await assertArrived(duty);
    });
  }

  it('is two firmware files that were swapped', async () => {
    await using duty = await createDuty();
    const climate = (version: string): Uint8Array => buildImage({ project: 'climate', version, bytes: 9000 });
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    duty.server.offer('climate', '1.0.0', climate('1.0.0'));
    await duty.start();
    await waitFor('both', () => duty.firmware().status().items.length === 2);
    duty.server.offer('lamp', '1.1.0', climate('1.1.0'));
    duty.server.offer('climate', '1.1.0', imageOf('1.1.0'));
    await duty.firmware().check();
    const refused = () => duty.firmware().status().refused ?? [];
    await waitFor('both to be refused', () => refused().length === 2);
    for (const { reason } of refused()) assert.match(reason, /image of another firmware/);
  });

  it('does not keep other firmware of the same manifest from devices', async () => {
    await using duty = await createDuty();
    duty.server.offer('climate', '1.0.0', Buffer.from('x'), { chip: 'esp32' });
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    const names = () =>
      duty
        .firmware()
        .status()
        .items.map(({ name }) => name);
    // The status follows the event.
    await waitFor('the lamp', () => names().includes('lamp'));
    assert.deepEqual(names(), ['lamp']);
  });
});

describe('the cache', () => {
  it('is readable by others with any umask', async () => {
    const before = process.umask(0o077);
    try {
      await using duty = await createDuty();
      duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
      await duty.start();
      await duty.until('firmware_handed_over');
      const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);
      assert.equal(await modeOf(duty.cacheDir), '755');
      for (const name of await readdir(duty.cacheDir))
        assert.equal(await modeOf(join(duty.cacheDir, name)), '644', name);
      assert.equal(await modeOf(join(duty.folder, 'data/firmware.json')), '600');
    } finally {
      process.umask(before);
    }
  });

  it('has metadata with the specified names', async () => {
    await using duty = await createDuty();
    const offered = duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'), { minVersion: '0.5.0' });
    await duty.start();
    await duty.until('firmware_handed_over');
    const metadata = JSON.parse(await readFile(join(duty.cacheDir, 'lamp.json'), 'utf8')) as Record<string, unknown>;
    const { downloadedAt, ...rest } = metadata;
    assert.ok(Number.isFinite(Date.parse(String(downloadedAt))));
    const expected = { version: '1.0.0', file: 'lamp@1.0.0.bin', checksum: offered.checksum, size, chip: 'esp32' };
    assert.deepEqual(rest, { ...expected, project: 'lamp', minVersion: '0.5.0' });
    assert.deepEqual(duty.backend.accepted, [
      { name: 'lamp', ...expected, path: '/firmware/lamp@1.0.0.bin', minVersion: '0.5.0' },
    ]);
  });

  it('serves nothing damaged, and is repaired', async () => {
    await using duty = await createDuty();
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    await duty.until('firmware_handed_over');
    await duty.stop();
    const damaged = Buffer.from(imageOf('1.0.0'));
    damaged.fill(0, 1000, 1100);
    await writeFile(join(duty.cacheDir, 'lamp@1.0.0.bin'), damaged);
    await duty.server.goOffline();
    const before = duty.events.length;
    await duty.start();
    await duty.until('state_repaired', before);
    assert.equal(existsSync(join(duty.cacheDir, 'lamp@1.0.0.bin')), false);
    await duty.server.goOnline();
    await duty.checkUntil('firmware_ready');
    await assertArrived(duty);
  });

  it('replaces wrong metadata without a second download', async () => {
    for (const text of ['{', '{}', JSON.stringify({ version: '1.0.0', file: '../x', checksum: '', size: 1 })]) {
      await using duty = await createDuty();
      duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
      await duty.start();
      await duty.until('firmware_handed_over');
      await duty.stop();
      await writeFile(join(duty.cacheDir, 'lamp.json'), text);
      const before = duty.events.length;
      await duty.start();
      await duty.until('firmware_ready', before);
      assert.equal(sentBytes(duty), size);
      await assertArrived(duty);
    }
  });

  it('is not created before there is a file for it', async () => {
    await using duty = await createDuty();
    await duty.start();
    await duty.firmware().check();
    assert.equal(existsSync(duty.cacheDir), false);
  });
});
