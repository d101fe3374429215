import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { buildImage, checksumOfFile } from '@station/simulators/firmware/image-builder';
import { parseSigningKey } from '@station/protocol/signing-key';
import { waitFor } from '../rig/program.ts';
import { createDuty, type Duty } from './firmware-duty.ts';

const imageOf = (version: string): Uint8Array => buildImage({ project: 'lamp', version, bytes: 20_000 });
const isHandedOver = (duty: Duty): boolean => duty.firmware().status().items[0]?.handedOver === true;

describe('the hand-over', () => {
  it('waits for an offline backend, reports it, and continues when it is back', async () => {
    await using duty = await createDuty();
    await duty.backend.stop();
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    const failed = await duty.until('firmware_hand_over_failed');
    assert.match('reason' in failed ? String(failed.reason) : '', /does not answer \(ECONNREFUSED\)/);
    for (let tries = 0; tries < 3; tries += 1) await duty.checkUntil('firmware_hand_over_failed');
    await waitFor('the condition', () => duty.conditions().includes('firmware_not_handed_over'));
    assert.match(duty.firmware().status().lastError ?? '', /does not answer/);
    assert.equal(isHandedOver(duty), false);
    await duty.backend.start();
    await duty.checkUntil('firmware_handed_over');
    await waitFor('no condition', () => duty.conditions().length === 0);
    assert.equal(duty.firmware().status().lastError, null);
    assert.equal(isHandedOver(duty), true);
  });

  it('says at once when a person wants to be asked first, and when no longer', async () => {
    let isAutomatic = true;
    await using duty = await createDuty({ isAutomatic: () => isAutomatic });
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    await duty.until('firmware_handed_over');
    for (const [automatic, needsApproval] of [
      [false, true],
      [true, undefined],
    ]) {
      const before = duty.events.length;
      isAutomatic = automatic === true;
      duty.firmware().handOverAgain();
      await duty.until('firmware_handed_over', before);
      assert.equal(duty.backend.accepted.at(-1)?.needsApproval, needsApproval);
    }
    // A backend with records of another time learns it again.
    duty.backend.forget();
    isAutomatic = false;
    await duty.checkUntil('firmware_handed_over');
    assert.equal(duty.backend.accepted.at(-1)?.needsApproval, true);
    assert.equal(isHandedOver(duty), true);
  });

  it('distinguishes a refused token from a failing backend', async () => {
    for (const [backendToken, isFailing, reason] of [
      ['another-token-0123456789', false, /refuses BACKEND_AGENT_TOKEN/],
      ['', true, /answered 503/],
    ] as const) {
      await using duty = await createDuty(backendToken === '' ? {} : { backendToken });
      duty.backend.isFailing = isFailing;
      duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
      await duty.start();
      const failed = await duty.until('firmware_hand_over_failed');
      assert.match('reason' in failed ? String(failed.reason) : '', reason);
      assert.ok(!JSON.stringify(duty.events).includes('another-token'));
      assert.equal(duty.backend.accepted.length, 0);
    }
  });

  it('passes on the device types of the manifest, also without firmware, when they change and at each check', async () => {
    await using duty = await createDuty();
    const describe = (name: string): void =>
      duty.server.setManifest({ types: [{ type: 'relay', capabilities: [], names: { en: name } }] });
    const last = (): unknown => duty.backend.announced.at(-1);
    describe('Relay');
    await duty.start();
    await waitFor('the type', () => last() !== undefined);
    assert.deepEqual(last(), { type: 'relay', capabilities: [], names: { en: 'Relay' } });
    describe('Switch');
    await duty.firmware().check();
    await waitFor('the changed type', () => JSON.stringify(last()).includes('Switch'));
    const { length } = duty.backend.announced;
    await duty.firmware().check();
    await waitFor('the same once more', () => duty.backend.announced.length > length);
  });

  it('goes on with descriptions of types that are nested ten thousand times', async () => {
    await using duty = await createDuty();
    const depth = 10_000;
    const capabilities: unknown = JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    const offer = (notes: string): void => duty.server.setManifest({ types: [{ type: 'relay', capabilities }], notes });
    offer('first');
    await duty.start();
    await duty.firmware().check();
    const { length } = duty.backend.announced;
    offer('second');
    await duty.firmware().check();
    await waitFor('the types once more', () => duty.backend.announced.length > length);
    assert.ok(
      !duty.events.some(({ event }) => event === 'unexpected_error'),
      JSON.stringify(duty.events).slice(0, 500),
    );
  });

  it("works with a backend of Station's first release, which takes no device types", async () => {
    await using duty = await createDuty();
    duty.backend.isFirstRelease = true;
    const { version, checksum } = duty.server.offer('esp32-lamp', '1.0.0', imageOf('1.0.0'));
    const entry = { version, checksum, file: 'esp32-lamp-1.0.0.bin', capabilities: [] };
    duty.server.setManifest({ types: [{ type: 'esp32/lamp', ...entry }] });
    await duty.start();
    await duty.until('firmware_handed_over');
    assert.deepEqual([duty.backend.accepted[0]?.name, duty.backend.announced], ['esp32-lamp', []]);
    await duty.firmware().check();
    assert.ok(!duty.conditions().includes('firmware_not_handed_over'));
    assert.equal(duty.firmware().status().lastError, null);
  });

  it('of a refused firmware does not block others', async () => {
    await using duty = await createDuty();
    duty.backend.refused.add('alarm');
    duty.server.offer('alarm', '1.0.0', buildImage({ project: 'alarm', version: '1.0.0', bytes: 20_000 }));
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    await duty.until('firmware_handed_over');
    assert.deepEqual(
      duty.backend.accepted.map(({ name }) => name),
      ['lamp'],
    );
    for (let tries = 0; tries < 3; tries += 1) await duty.checkUntil('firmware_hand_over_failed');
    await waitFor('the condition', () => duty.conditions().includes('firmware_not_handed_over'));
    assert.match(duty.firmware().status().lastError ?? '', /answered 409/);
    duty.backend.refused.clear();
    await duty.checkUntil('firmware_handed_over');
    await waitFor('no condition', () => duty.conditions().length === 0);
    assert.deepEqual(
      duty
        .firmware()
        .status()
        .items.map(({ handedOver }) => handedOver),
      [true, true],
    );
  });

  it('is repeated only when the backend has lost its records', async () => {
    await using duty = await createDuty();
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    await duty.until('firmware_handed_over');
    await duty.start();
    await waitFor('the call to the backend', () => isHandedOver(duty));
    await duty.firmware().check();
    assert.equal(duty.backend.accepted.length, 1);
    duty.backend.forget();
    await duty.checkUntil('firmware_handed_over');
    assert.equal(duty.backend.accepted.length, 2);
  });

  it('has the path below FIRMWARE_FOLDER, and is repeated when that changes', async () => {
    const options = { folder: '/files/of-devices' };
    await using duty = await createDuty(options);
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    await duty.until('firmware_handed_over');
    options.folder = '/other';
    const before = duty.events.length;
    await duty.start();
    await duty.until('firmware_handed_over', before);
    assert.deepEqual(
      duty.backend.accepted.map(({ path }) => path),
      ['/files/of-devices/lamp@1.0.0.bin', '/other/lamp@1.0.0.bin'],
    );
  });

  it('of a newer version removes the old one only when every device reports the new one', async () => {
    await using duty = await createDuty();
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    duty.backend.installed.set('lamp', ['1.0.0']);
    await duty.start();
    await duty.until('firmware_handed_over');
    duty.server.offer('lamp', '1.1.0', imageOf('1.1.0'));
    await duty.checkUntil('firmware_handed_over');
    await duty.firmware().check();
    duty.backend.installed.set('lamp', ['1.0.0', '1.1.0']);
    await duty.firmware().check();
    assert.deepEqual((await readdir(duty.cacheDir)).sort(), ['lamp.json', 'lamp@1.0.0.bin', 'lamp@1.1.0.bin']);
    duty.backend.installed.set('lamp', ['1.1.0']);
    await duty.checkUntil('firmware_old_removed');
    assert.deepEqual((await readdir(duty.cacheDir)).sort(), ['lamp.json', 'lamp@1.1.0.bin']);
    await waitFor('the status to show it', () => duty.firmware().status().files?.length === 1);
  });
});

describe('the manifest', () => {
  it('is requested conditionally', async () => {
    await using duty = await createDuty();
    duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await duty.start();
    await duty.until('firmware_ready');
    assert.deepEqual(await duty.firmware().check(), { ok: true });
    assert.equal(duty.server.requests.at(-1)?.status, 304);
  });

  it('that is asked for without a pause brings a refused file to the disk twice and no more', async () => {
    await using duty = await createDuty();
    const { file } = duty.server.offer('lamp', '1.0.0', Buffer.from('no image'));
    await duty.start();
    await duty.until('firmware_refused');
    for (let check = 0; check < 20; check += 1) {
      await duty.firmware().check();
      await sleep(50);
    }
    assert.equal(duty.server.requests.filter(({ path }) => path.endsWith(file)).length, 2);
  });

  it('that fails is retried three times soon, then at the usual time', async () => {
    await using duty = await createDuty();
    await duty.server.goOffline();
    await duty.start();
    await duty.until('firmware_check_retry');
    await duty.checkUntil('firmware_check_retry');
    await duty.checkUntil('firmware_check_retry');
    await duty.checkUntil('firmware_check_failed');
    assert.match(duty.firmware().status().lastError ?? '', /ECONNREFUSED/);
    await waitFor('the condition', () => duty.conditions().includes('firmware_manifest_unreachable'));
    const waits = duty.events.flatMap((event) => (event.event === 'firmware_check_retry' ? [event.retryInMs] : []));
    assert.ok(
      waits.every((wait, index) => wait > (waits[index - 1] ?? 0)),
      `${waits.join(', ')}`,
    );
    await duty.server.goOnline();
    assert.deepEqual(await duty.firmware().check(), { ok: true });
    await waitFor('no condition', () => duty.conditions().length === 0);
  });

  for (const [name, bytes] of Object.entries({
    'is no JSON': Buffer.from('{"lamp": '),
    'is larger than 1 MiB': Buffer.alloc(2 ** 20 + 1, 0x20),
  })) {
    it(`that ${name} changes nothing and shows its reason`, async () => {
      await using duty = await createDuty();
      duty.server.offer('lamp', '1.0.0', imageOf('1.0.0'));
      await duty.start();
      await duty.until('firmware_handed_over');
      duty.server.setManifest(bytes);
      const events = await duty.checkUntil('firmware_check_failed');
      assert.ok(events.some((event) => 'reason' in event && event.reason));
      await waitFor('the condition', () => duty.conditions().includes('firmware_manifest_rejected'));
      assert.equal(duty.firmware().status().items.length, 1);
    });
  }

  for (const isUsualAddress of [true, false]) {
    const what = isUsualAddress ? 'no fault at the default URL' : 'a fault at a configured URL';
    it(`that nobody has published is ${what}`, async () => {
      await using duty = await createDuty({ isUsualAddress });
      duty.server.setFault('manifest.json', { kind: 'status', status: 404 });
      await duty.start();
      await duty.until('firmware_check_failed');
      assert.deepEqual(duty.conditions(), isUsualAddress ? [] : ['firmware_manifest_unreachable']);
      assert.equal(duty.firmware().status().lastError, isUsualAddress ? null : 'the server answered 404');
      assert.ok(!duty.events.some(({ event }) => event === 'firmware_check_retry'), 'there is no immediate retry');
    });
  }

  it('on a USB stick works without a network', async () => {
    await using duty = await createDuty({
      manifestUrl: (folder) => pathToFileURL(join(folder, 'stick/manifest.json')),
    });
    const image = imageOf('1.0.0');
    await mkdir(join(duty.folder, 'stick/images'), { recursive: true });
    await writeFile(join(duty.folder, 'stick/images/lamp.bin'), image);
    const lamp = { version: '1.0.0', file: 'images/lamp.bin', checksum: checksumOfFile(image) };
    await writeFile(join(duty.folder, 'stick/manifest.json'), JSON.stringify({ lamp }));
    await duty.start();
    await duty.until('firmware_handed_over');
    assert.equal(duty.backend.accepted[0]?.checksum, checksumOfFile(image));
  });

  it('must be signed when a key is set, and an older signed one is refused', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const head = Buffer.concat([Buffer.from('Ed'), randomBytes(8)]);
    const publicBytes = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    const key = parseSigningKey(Buffer.concat([head, publicBytes]).toString('base64'));
    assert.ok(key);
    await using duty = await createDuty({ keys: { trusted: async () => [key], learn: async () => undefined } });
    const publish = (version: string, signed: boolean): void => {
      const { file, checksum } = duty.server.offer('lamp', version, imageOf(version));
      const manifest = Buffer.from(JSON.stringify({ lamp: { version, file, checksum } }));
      duty.server.setManifest(manifest);
      const signature = sign(null, signed ? manifest : Buffer.from('something else'), privateKey);
      const comment = 'timestamp:1';
      const line = Buffer.concat([Buffer.from('Ed'), key.keyId, signature]).toString('base64');
      const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), privateKey).toString('base64');
      const text = `untrusted comment: x\n${line}\ntrusted comment: ${comment}\n${global}\n`;
      duty.server.put('manifest.json.minisig', Buffer.from(text));
    };
    publish('1.0.0', false);
    await duty.start();
    const failed = await duty.until('firmware_check_failed');
    assert.match('reason' in failed ? String(failed.reason) : '', /signature does not verify/);
    publish('1.1.0', true);
    await duty.checkUntil('firmware_handed_over');
    // This holds even without the cache: the highest seen version is stored elsewhere.
    await duty.stop();
    for (const name of await readdir(duty.cacheDir)) await writeFile(join(duty.cacheDir, name), '');
    publish('1.0.0', true);
    await duty.start();
    await waitFor('the refusal', () => /older than 1\.1\.0/.test(duty.firmware().status().refused?.[0]?.reason ?? ''));
    assert.equal(duty.firmware().status().items.length, 0);
  });
});
