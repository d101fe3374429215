import type { ExpectedDevices } from '../core/expected-devices-port.ts';
import type { ForeignDevices } from '../core/foreign-devices-port.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { type Module, opened } from '../platform/module.ts';
import { createGatewayStore } from './gateway-store.ts';
import { type Gateways, openGateways } from './gateways.ts';

type GatewaysDoor = {
  foreign: ForeignDevices;
  /** `others`, and the devices that gateways announce. */
  expected(others: ExpectedDevices): ExpectedDevices;
};

/** Devices of other systems (ADR 82). Opened before the broker, which must know their logins and topics. */
export const gatewaysModule: Module<{ isShared: boolean }, GatewaysDoor> = {
  open: async ({ host: { clock, logger }, store: { db }, events, stationEvents }, { isShared }) => {
    const store = createGatewayStore(db);
    const { gateways, foreign, expected } = await openGateways({
      store,
      events,
      stationEvents,
      clock,
      logger,
      isShared,
    });
    const door = { foreign, expected: (others: ExpectedDevices) => either(expected, others) };
    return opened(null, door, { serve: async ({ app }) => registerRoutes(app, gateways) });
  },
};

const either = (own: ExpectedDevices, others: ExpectedDevices): ExpectedDevices => ({
  mayLogIn: others.mayLogIn,
  hasLogin: others.hasLogin,
  receive: async (externalId, handshake) => {
    const received = await own.receive(externalId, handshake);
    return received === 'not_expected' ? others.receive(externalId, handshake) : received;
  },
});

function registerRoutes(app: HttpServer, gateways: Gateways): void {
  serve(app, 'GET /api/gateways', () => gateways.list());
  serve(app, 'GET /api/gateways/heard', () => gateways.heard());
  serve(app, 'POST /api/gateways', async (request, reply) => reply.code(201).send(await gateways.add(request.body)));
  serve(app, 'POST /api/gateways/:id/login', (request) => gateways.renewLogin(request.params.id));
  serve(app, 'DELETE /api/gateways/:id', async (request, reply) => {
    await gateways.remove(request.params.id);
    return reply.code(204).send(null);
  });
}
