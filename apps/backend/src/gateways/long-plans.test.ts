import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../testing/until.ts';
import { createGatewayStore } from './gateway-store.ts';
import { openedGateways } from '../../testing/gateways/opened-gateways.ts';

/** A short message about many values that all have one long topic. */
function announcement(device: number): { topic: string; payload: Buffer; isRetained: boolean } {
  const topic = `esphome/${'a'.repeat(1_000)}`;
  const values = Array.from({ length: 128 }, (_, at) => [`v${at}`, { p: 'text', q: 1 }]);
  const message = { dev: { ids: `device-${device}` }, stat_t: topic, cmd_t: topic, cmps: Object.fromEntries(values) };
  return {
    topic: `homeassistant/device/device-${device}/config`,
    payload: Buffer.from(JSON.stringify(message)),
    isRetained: true,
  };
}

test('short announcements of what is long, which all starts would read, have a limit for each gateway', async () => {
  let heard = 0;
  await using house = await openedGateways({
    hear: (read) => {
      read();
      heard += 1;
    },
  });
  const { foreign, gateways, db } = house;
  await gateways.add({ name: 'ESPHome', dialect: 'home_assistant', baseTopic: 'esphome' });
  const most = 70;
  let bytes = 0;
  for (let device = 0; device < most; device++) {
    const message = announcement(device);
    bytes += message.payload.length;
    foreign.read(message);
  }
  await until('all of them are read', () => heard === most);
  const [gateway] = await gateways.list();
  const refused = gateway?.notSupported.filter(({ reason }) => reason === 'no_room').length ?? 0;
  await until('the others are on disk', async () => (await createGatewayStore(db).devices()).length === most - refused);
  const plans = (await db.selectFrom('gateway_devices').select('plan').execute()).map(({ plan }) => plan.length);
  const total = plans.reduce((sum, one) => sum + one, 0);
  assert.ok(refused > 0 && refused < most, `${refused} are refused`);
  assert.ok(bytes < 500_000 && total > 10_000_000 && total < 17_000_000, `${bytes} bytes became ${total}`);
});
