import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { improvCommandUuid, improvServiceUuid, type BleError } from '@station/protocol/ble-frames';
import type { FakeBluez, Peripheral } from '../../rig/fake-bluez-objects.ts';
import { createStage, device, startScan, type Stage } from './stage.ts';

const uuid = (last: number): string => `00467768-6228-2272-4663-27747826800${last}`;
const state = uuid(1);
const error = uuid(2);
const result = uuid(4);
const capabilities = uuid(5);
const authorizationRequired = 1;
const authorized = 2;
const provisioning = 3;
const provisioned = 4;
const wifi = JSON.stringify({ ssid: 'Home', password: 'correct horse' });

/** An Improv device: what it notifies after each command, or when it breaks the link. */
type Answer = [uuid: string, ...bytes: number[]] | 'drop';

function improvDevice(answers: Answer[][], firstState = authorized) {
  const values: Record<string, Uint8Array> = { [state]: Uint8Array.of(firstState) };
  const commands: number[][] = [];
  const one = device({
    services: { [improvServiceUuid]: [state, error, improvCommandUuid, result, capabilities] },
    values,
  });
  const answer = (fake: FakeBluez, peripheral: Peripheral): void => {
    for (const step of answers.shift() ?? []) {
      if (step === 'drop') fake.disconnect(peripheral);
      else {
        const [to, ...bytes] = step;
        values[to] = Uint8Array.from(bytes);
        fake.notify(peripheral, to, Uint8Array.from(bytes));
      }
    }
  };
  const connectTo = (stage: Stage): void => {
    one.onWrite = (to, value) => {
      assert.equal(to, improvCommandUuid);
      commands.push([...value]);
      answer(stage.fake, one);
    };
  };
  return { one, commands, connectTo, values };
}

async function scanning(
  improv: ReturnType<typeof improvDevice>,
  limits: NonNullable<Parameters<typeof createStage>[0]>['limits'] = {},
): Promise<Stage> {
  const stage = await createStage({ limits: { firstRetryMs: 1, ...limits } });
  improv.connectTo(stage);
  stage.fake.add(improv.one);
  stage.send(startScan);
  await stage.next('discovered');
  return stage;
}

const joins: Answer[] = [
  [error, 0],
  [state, provisioning],
  [state, provisioned],
  [result, 1, 0, 1],
];

describe('an Improv device', () => {
  it('is given its Wi-Fi in one command, and has joined', async () => {
    const improv = improvDevice([joins]);
    await using stage = await scanning(improv);
    assert.equal((await stage.write(improv.one, wifi)).ok, true);
    const text = (value: string): number[] => [...Buffer.from(value)];
    const body = [1, 19, 4, ...text('Home'), 13, ...text('correct horse')];
    assert.deepEqual(improv.commands, [[...body, body.reduce((sum, byte) => sum + byte, 0) % 256]]);
    const { calls } = stage.fake;
    assert.ok(calls.lastIndexOf('StartNotify') < calls.indexOf('WriteValue'), 'subscribes before it writes');
    assert.equal(calls.filter((member) => member === 'StartNotify').length, 3);
  });

  it('has joined when it only sends a result', async () => {
    const improv = improvDevice([[[result, 1, 0, 1]]]);
    await using stage = await scanning(improv);
    assert.equal((await stage.write(improv.one, wifi)).ok, true);
  });

  it('that was provisioned before is given the new network', async () => {
    const improv = improvDevice(
      [
        [
          [state, provisioning],
          [error, 3],
        ],
      ],
      provisioned,
    );
    await using stage = await scanning(improv);
    assert.equal((await stage.write(improv.one, wifi)).error, 'improv_wrong_credentials');
  });

  const failures: [BleError, number][] = [
    ['improv_refused', 1],
    ['improv_refused', 2],
    ['improv_wrong_credentials', 3],
    ['improv_not_authorized', 4],
    ['improv_refused', 255],
  ];
  for (const [failure, code] of failures) {
    it(`that answers error ${code} is reported as ${failure}`, async () => {
      const improv = improvDevice([
        [
          [state, provisioning],
          [error, code],
          [state, authorized],
        ],
      ]);
      await using stage = await scanning(improv);
      assert.equal((await stage.write(improv.one, wifi)).error, failure);
      assert.equal(improv.commands.length, 1);
    });
  }

  it('that asks for its button waits for it', async () => {
    const improv = improvDevice([joins], authorizationRequired);
    await using stage = await scanning(improv);
    const writing = stage.write(improv.one, wifi);
    await stage.until(() => stage.fake.calls.includes('ReadValue'));
    improv.values[state] = Uint8Array.of(authorized);
    stage.fake.notify(improv.one, state, Uint8Array.of(authorized));
    assert.equal((await writing).ok, true);
  });

  it('whose button nobody presses is reported', async () => {
    const improv = improvDevice([joins], authorizationRequired);
    await using stage = await scanning(improv, { authorizeMs: 20 });
    assert.equal((await stage.write(improv.one, wifi)).error, 'improv_not_authorized');
    assert.deepEqual(improv.commands, []);
  });

  it('whose link breaks after the command is asked whether it has joined', async () => {
    const improv = improvDevice([[[state, provisioning]]]);
    await using stage = await scanning(improv);
    const writing = stage.write(improv.one, wifi);
    await stage.until(() => improv.commands.length === 1);
    improv.values[state] = Uint8Array.of(provisioned);
    stage.fake.disconnect(improv.one);
    assert.equal((await writing).ok, true);
    assert.equal(improv.commands.length, 1);
  });

  it('that never answers ends within its time', async () => {
    const improv = improvDevice([[]]);
    await using stage = await scanning(improv, { budgetMs: 1000 });
    assert.equal((await stage.write(improv.one, wifi)).error, 'timed_out');
  });

  it('ends within its time also when nobody answers for its notifications', async () => {
    const improv = improvDevice([joins]);
    improv.one.hangsOnNotify = true;
    await using stage = await scanning(improv, { budgetMs: 1000, callMs: 120_000 });
    assert.equal((await stage.write(improv.one, wifi)).error, 'timed_out');
  });

  it('is not given what is no Wi-Fi network', async () => {
    const improv = improvDevice([]);
    await using stage = await scanning(improv);
    const payloads = ['text', '7', '{}', '{"ssid":"","password":""}', '{"ssid":"Home"}', '{"ssid":1,"password":2}'];
    for (const payload of [...payloads, JSON.stringify({ ssid: 'x'.repeat(200), password: 'x'.repeat(64) })])
      assert.equal((await stage.write(improv.one, payload)).error, 'payload_invalid');
    assert.ok(!stage.fake.calls.includes('Connect'));
  });

  it('without a characteristic is looked at once more', async () => {
    const improv = improvDevice([]);
    improv.one.services = { [improvServiceUuid]: [state, improvCommandUuid] };
    await using stage = await scanning(improv);
    assert.equal((await stage.write(improv.one, wifi)).error, 'characteristic_missing');
    assert.equal(stage.fake.calls.filter((member) => member === 'Connect').length, 2);
  });
});
