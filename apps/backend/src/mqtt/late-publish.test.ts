import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkTo, startForgetfulBroker } from '../../testing/forgetful-broker.ts';
import { until } from '../../testing/until.ts';

for (const version of [4, 5] as const) {
  const name = version === 4 ? 'MQTT 3.1.1' : 'MQTT 5';
  test(`by ${name}, a message reported as failed is not sent when the broker is back`, async () => {
    await using broker = await startForgetfulBroker(version);
    await using link = linkTo(broker.url);
    await until('it listens', link.isReady);
    broker.acknowledges = false;
    await assert.rejects(link.publish('lock/command', 'unlock', 200));
    assert.equal(broker.received.length, 1);
    broker.cut();
    broker.acknowledges = true;
    await until('it is back', () => broker.connections === 2 && link.isReady());
    await link.publish('lock/command', 'lock', 15_000);
    assert.deepEqual(
      broker.received.map(({ payload }) => String(payload)),
      ['unlock', 'lock'],
    );
  });

  test(`by ${name}, a message interrupted by the end of the connection is sent again, with the rest of its expiry`, async () => {
    await using broker = await startForgetfulBroker(version);
    await using link = linkTo(broker.url);
    await until('it listens', link.isReady);
    broker.acknowledges = false;
    const publishing = link.publish('lock/command', 'lock', 15_000);
    await until('it is under way', () => broker.received.length === 1);
    broker.cut();
    broker.acknowledges = true;
    await publishing;
    const [first, again] = broker.received.map(({ properties }) => properties?.messageExpiryInterval);
    assert.equal(broker.received.length, 2);
    if (version === 4) return assert.deepEqual([first, again], [undefined, undefined]);
    assert.equal(first, 15);
    assert.ok(again !== undefined && again < 15, String(again));
  });
}

test('a publish that waits for an offline broker ends with the link', async () => {
  await using broker = await startForgetfulBroker(5);
  const link = linkTo(broker.url);
  await until('it listens', link.isReady);
  broker.acknowledges = false;
  const publishing = link.publish('lock/command', 'lock', 15_000);
  await until('it is under way', () => broker.received.length === 1);
  await Promise.all([assert.rejects(publishing, /connection ended/), link[Symbol.asyncDispose]()]);
});
