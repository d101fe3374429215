import assert from 'node:assert/strict';
import { systemClock } from '@station/kit/clock';
import { createDeviceEvents } from '../../src/core/device-events.ts';
import type { GatewayBroker } from '../../src/core/foreign-devices-port.ts';
import { recordedLog } from '../recorded-log.ts';
import { openTestStore } from '../test-store.ts';
import { createGatewayStore } from '../../src/gateways/gateway-store.ts';
import { openGateways } from '../../src/gateways/gateways.ts';

/** Gateways on a real database; `asked` sees what the broker is asked to do, at that moment. */
export async function openedGateways(asked: Partial<GatewayBroker> = {}) {
  await using starting = new AsyncDisposableStack();
  const { db } = starting.use(await openTestStore());
  const logger = recordedLog();
  const broker: GatewayBroker = {
    receive: async () => undefined,
    hear: () => undefined,
    ask: () => undefined,
    onFiltersChanged: () => undefined,
    addLogin: async () => true,
    removeLogin: async () => undefined,
    openLink: () => assert.fail('no gateway has one'),
    listen: () => undefined,
    ...asked,
  };
  /** Also once more on the same database, as after a restart. */
  const opening = () =>
    openGateways({
      store: createGatewayStore(db),
      events: createDeviceEvents(logger),
      stationEvents: { note: () => undefined },
      clock: systemClock,
      logger,
      isShared: false,
    });
  const opened = await opening();
  starting.use(opened.foreign.attach(broker));
  const all = starting.move();
  return { ...opened, db, broker, opening, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
