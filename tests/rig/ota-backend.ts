import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AnnouncedDeviceTypes, FirmwareReady, type OtaDeviceTypes } from '@station/protocol/firmware';
import { isNewer } from '@station/protocol/version';
import { Value } from 'typebox/value';

/** The backend's routes for the agent's firmware, over real HTTP, with records that can be lost. */
export type OtaBackendDouble = AsyncDisposable & {
  origin: string;
  token: string;
  /** Every body that was accepted, oldest first. */
  accepted: FirmwareReady[];
  /** Device types that it was told of, oldest first. */
  announced: unknown[];
  /** True: it does not take device types, as in Station's first release. */
  isFirstRelease: boolean;
  /** Versions that devices of a type report. */
  installed: Map<string, string[]>;
  /** True: every request is answered with 503. */
  isFailing: boolean;
  /** Names of firmware that is always answered with 409. */
  refused: Set<string>;
  /** Forgets everything, as after the loss of its database. */
  forget(): void;
  stop(): Promise<void>;
  start(): Promise<void>;
};

export async function startOtaBackend(token = 'token-of-the-agent-0123456789'): Promise<OtaBackendDouble> {
  const accepted: FirmwareReady[] = [];
  const installed = new Map<string, string[]>();
  const cached = new Map<string, Pick<FirmwareReady, 'version' | 'needsApproval'>>();
  let port = 0;
  let server: ReturnType<typeof createServer> | null = null;
  const types = (): OtaDeviceTypes =>
    [...new Set([...installed.keys(), ...cached.keys()])].map((type) => ({
      type,
      installed: installed.get(type) ?? [],
      cached: cached.get(type)?.version ?? null,
      needsApproval: cached.get(type)?.needsApproval ?? false,
    }));
  /** Status and body. */
  const answer = (route: string, authorization: string | undefined, text: string): [number, unknown] => {
    if (double.isFailing) return [503, null];
    if (authorization !== `Bearer ${token}`) return [401, null];
    if (route === 'GET /api/ota/device-types') return [200, types()];
    if (route === 'POST /api/ota/device-types' && !double.isFirstRelease) {
      double.announced.push(...(JSON.parse(text) as AnnouncedDeviceTypes).types);
      return [204, null];
    }
    if (route !== 'POST /api/ota/firmware-ready') return [404, null];
    const body: unknown = JSON.parse(text);
    if (!Value.Check(FirmwareReady, body)) return [400, [...Value.Errors(FirmwareReady, body)]];
    if (double.refused.has(body.name)) return [409, null];
    accepted.push(body);
    if (!isNewer(cached.get(body.name)?.version ?? null, body.version)) cached.set(body.name, body);
    return [204, null];
  };
  const start = async (): Promise<void> => {
    if (server) return;
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method, url, headers } = request;
        const [status, body] = answer(`${method} ${url}`, headers.authorization, Buffer.concat(chunks).toString());
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(body === null ? undefined : JSON.stringify(body));
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const stop = async (): Promise<void> => {
    if (!server) return;
    const closing = server;
    server = null;
    closing.close();
    closing.closeAllConnections();
    await once(closing, 'close');
  };
  const double: OtaBackendDouble = {
    origin: '',
    token,
    accepted,
    announced: [],
    isFirstRelease: false,
    installed,
    isFailing: false,
    refused: new Set(),
    forget: () => cached.clear(),
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  await start();
  double.origin = `http://127.0.0.1:${port}`;
  return double;
}
