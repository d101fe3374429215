import type { FastifyInstance } from 'fastify';
import type { Status } from '@station/protocol/agent-api';
import type { LogLine, Machine } from '@station/protocol/agent-machine';
import type { NetworkState } from '@station/protocol/agent-network';
import { ago } from './scenes.ts';

const gigabyte = 1_000_000_000;
const hex = (name: string): string => Buffer.from(name).toString('hex');
const near = (name: string, signal: number, isKnown: boolean): NetworkState['networks'][number] => ({
  ssid: hex(name),
  name,
  security: 'wpa2',
  signal,
  isKnown,
});

/** The routes of the machine itself, of its network and of its logs. Nothing is restarted or joined. */
export function addMachine(app: FastifyInstance, wifi: () => Status['wifi']): void {
  app.get('/api/system/machine', (): Machine => ({
    model: 'Raspberry Pi 4 Model B Rev 1.5',
    cores: 4,
    load: [0.4, 0.3, 0.2],
    temperature: 51.2,
    power: null,
    memory: { totalBytes: 4 * gigabyte, availableBytes: 2.6 * gigabyte },
    disks: [{ path: '/', totalBytes: 31 * gigabyte, freeBytes: 22 * gigabyte }],
    uptimeSeconds: 9 * 86_400,
    canRestart: true,
    now: ago(0),
  }));
  app.get('/api/system/network', (): NetworkState => ({
    wifi: wifi(),
    links: [{ interface: 'eth0', kind: 'ethernet', mac: '02:00:00:00:00:01', addresses: ['192.0.2.20'] }],
    blocker: null,
    joining: null,
    lastJoin: null,
    scannedAt: ago(20_000),
    stationAddress: 'station.local',
    networks: [near('Kyiv flat', 82, true), near('Neighbours', 41, false)],
  }));
  for (const path of ['network/scan', 'network/join', 'services/restart', 'machine/restart'])
    app.post(`/api/system/${path}`, async (_request, reply) => reply.code(202).send({}));
  app.get('/api/system/logs', async (_request, reply) => {
    const line: LogLine = { service: 'backend', time: ago(0), text: '{"level":"info","event":"backend_ready"}' };
    return reply.type('text/event-stream').send(`data: ${JSON.stringify(line)}\n\n`);
  });
}
