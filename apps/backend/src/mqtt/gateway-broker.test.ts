import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { startForgetfulBroker } from '../../testing/forgetful-broker.ts';
import { until } from '../../testing/until.ts';
import { openGatewayBroker } from './gateway-broker.ts';

test('listens only at a broker whose logins another system makes', async () => {
  await using opened = new AsyncDisposableStack();
  const broker = opened.use(await startForgetfulBroker(5));
  const access = { url: broker.url, username: null, password: null, authority: null };
  let isKept: boolean | null = null;
  const { listen } = await openGatewayBroker(opened, {
    link: { addresses: [], publish: async () => undefined, disconnect: () => undefined },
    logins: { addSystem: async () => false, removeSystem: async () => undefined, isKept: () => isKept },
    inlet: { receive: async () => undefined, hear: () => undefined },
    external: { ...access, stationId: 's', clock: systemClock },
  });
  const topics: string[] = [];
  const hear = (): void => listen(['+/bridge/state'], ({ topic }) => topics.push(topic));
  hear();
  isKept = true;
  hear();
  isKept = false;
  hear();
  await until('the connection', () => broker.connections > 0);
  broker.publish('zigbee2mqtt/bridge/state', Buffer.from('online'), 1);
  await until('the message', () => topics.length > 0);
  assert.deepEqual(topics, ['zigbee2mqtt/bridge/state']);
  assert.equal(broker.connections, 1);
});
