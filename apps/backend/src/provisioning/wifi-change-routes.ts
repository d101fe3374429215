import { StationError } from '@station/kit/station-error';
import { RequestInvalidError } from '@station/kit/validation';
import type { DevicesWifiRequest } from '@station/protocol/devices-wifi';
import { isSsidTooLong, longestSsid } from '@station/protocol/wifi-password';
import { userOf } from '../http/access.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { WifiChanges } from './wifi-change.ts';
import type { WifiOffers } from './wifi-offer.ts';
import type { CheckWifiPassword } from './wifi-password.ts';

export type WifiChangeRoutesParts = {
  changes: WifiChanges;
  offers: WifiOffers;
  checkPassword: CheckWifiPassword;
};

/** /api/devices/wifi: brings the devices to another Wi-Fi (contracts, section 9). */
export async function registerWifiChangeRoutes(app: HttpServer, parts: WifiChangeRoutesParts): Promise<void> {
  const { changes, offers } = parts;
  serve(app, 'GET /api/devices/wifi', () => changes.view());
  serve(app, 'POST /api/devices/wifi', (request, reply) => startChange(parts, request, reply));
  serve(app, 'POST /api/devices/wifi/cancel', async () => {
    if (!(await changes.cancel())) throw new StationError('conflict', 'No change of the Wi-Fi is running.');
    return changes.view();
  });
  serve(app, 'DELETE /api/devices/wifi/offer', async (_request, reply) => {
    await offers.withdraw();
    await changes.notify();
    return reply.code(204).send(null);
  });
}

async function startChange(
  { changes, offers, checkPassword }: WifiChangeRoutesParts,
  request: RequestOf<'POST /api/devices/wifi'>,
  reply: ReplyOf<'POST /api/devices/wifi'>,
) {
  const network = request.body ?? (await stationNetwork(offers));
  if (isSsidTooLong(network.ssid)) {
    const message = `must have at most ${longestSsid} bytes in UTF-8`;
    throw new RequestInvalidError([{ in: 'body', pointer: '/ssid', message }]);
  }
  if (request.body !== null) await checkPassword(request.body);
  if (!(await changes.start(network, userOf(request).userId))) {
    throw new StationError('conflict', 'Another change of the Wi-Fi is running. Wait for its end, or cancel it.');
  }
  if (request.body === null) await offers.useForDevices(network);
  return reply.code(202).send(await changes.view());
}

async function stationNetwork(offers: WifiOffers): Promise<DevicesWifiRequest> {
  const wifi = await offers.stationWifi();
  if (wifi === null) {
    throw new StationError('no_wifi_credentials', 'The agent has forwarded no network. Send its name and password.');
  }
  const { ssid, password } = wifi;
  return { ssid, password };
}
