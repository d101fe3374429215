import type { FastifyInstance } from 'fastify';
import type { CloudActivity } from '@station/protocol/cloud-activity';
import { eventChannels, type CloudCondition, type CloudStatus } from '@station/protocol/cloud';
import { cloudConditions, type CloudConditionId } from '@station/protocol/cloud-conditions';
import type { ServerMessage } from '@station/protocol/socket';
import { ago } from './scenes.ts';

/** States of the link; `off`: no cloud is configured. */
export const cloudMoods = [
  'off',
  'unclaimed',
  'unreachable',
  'connected',
  'offline',
  'rejected',
  'full',
  'fault',
  'loading',
] as const;
export type CloudMood = (typeof cloudMoods)[number];

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const host = 'cloud.example.org';
const failure = { statusCode: 500, error: 'Error', code: 'internal', message: '' };
const conflict = { ...failure, statusCode: 409, code: 'conflict' };
const megabyte = 1024 * 1024;

const condition = (id: CloudConditionId, age: number): CloudCondition => ({
  id,
  ...cloudConditions[id],
  since: ago(age),
});

const claimed: CloudStatus = {
  state: 'authenticated',
  host,
  isHeldHere: true,
  connectedSince: ago(3 * hour),
  claimedAt: ago(40 * 24 * hour),
  lastHeardAt: ago(4 * second),
  lastError: null,
  nextAttemptAt: null,
  activeChannels: eventChannels.filter((channel) => channel !== 'firmware' && channel !== 'lifecycle'),
  outbox: { pending: 0, oldestAt: null, bytes: 0, maxBytes: 256 * megabyte, dropped: 0, deadLetters: 0 },
  conditions: [],
  askedAt: ago(2 * minute),
};
const away: CloudStatus = {
  ...claimed,
  connectedSince: null,
  lastHeardAt: ago(50 * minute),
  activeChannels: [...eventChannels],
};
const nobodys: CloudStatus = { ...claimed, state: 'unclaimed', connectedSince: null, claimedAt: null, askedAt: null };

const statuses: Record<Exclude<CloudMood, 'fault' | 'loading'>, () => CloudStatus> = {
  off: () => ({ ...nobodys, state: 'disabled', host: null, activeChannels: [] }),
  unclaimed: () => nobodys,
  unreachable: () => ({
    ...nobodys,
    lastError: 'getaddrinfo EAI_AGAIN cloud.example.org',
    nextAttemptAt: ago(-24 * second),
  }),
  connected: () => claimed,
  offline: () => ({
    ...away,
    state: 'offline',
    lastError: 'connect ETIMEDOUT 203.0.113.7:443',
    nextAttemptAt: ago(-41 * second),
    outbox: { ...claimed.outbox, pending: 12_408, oldestAt: ago(50 * minute), bytes: 1_563_000 },
    conditions: [condition('cloud_unreachable', 50 * minute)],
  }),
  rejected: () => ({
    ...away,
    state: 'rejected',
    lastError: 'The cloud closed the link with code 4401: unknown token',
    nextAttemptAt: ago(-18 * minute),
    outbox: { ...claimed.outbox, pending: 311, oldestAt: ago(hour), bytes: 40_000 },
    conditions: [condition('cloud_rejected', 20 * minute)],
  }),
  full: () => ({
    ...claimed,
    outbox: {
      pending: 2_481_000,
      oldestAt: ago(70 * hour),
      bytes: 255 * megabyte,
      maxBytes: 256 * megabyte,
      dropped: 18_400,
      deadLetters: 2,
    },
    conditions: [condition('cloud_outbox_full', hour), condition('cloud_dead_letters', 3 * hour)],
  }),
};

const asked = (deviceId: string | null): CloudActivity[] => [
  { at: ago(2 * minute), request: 'device.command', deviceId, action: 'set_power', outcome: 'done', times: 1 },
  { at: ago(9 * minute), request: 'devices.snapshot', deviceId: null, action: null, outcome: 'done', times: 14 },
  { at: ago(hour), request: 'device.command', deviceId, action: 'set_brightness', outcome: 'refused', times: 1 },
  { at: ago(2 * hour), request: 'member_added', deviceId: null, action: null, outcome: 'done', times: 1 },
  { at: ago(3 * hour), request: 'identity_sync', deviceId: null, action: null, outcome: 'done', times: 1 },
];

/** The routes of the cloud link. @param firstDevice a device that the cloud has called. */
export function addCloud(
  app: FastifyInstance,
  broadcast: (message: ServerMessage) => void,
  firstDevice: string,
): { setMood(mood: CloudMood): void } {
  let mood: CloudMood = 'connected';
  let codes = 0;
  const slowly = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, minute));
  const status = (): CloudStatus => (mood === 'fault' || mood === 'loading' ? claimed : statuses[mood]());
  const become = (next: CloudMood): void => {
    mood = next;
    broadcast({ type: 'cloud_status', at: ago(0), status: status() });
  };

  app.get('/api/cloud/status', async (_request, reply) => {
    if (mood === 'loading') await slowly();
    return mood === 'fault' ? reply.code(500).send(failure) : status();
  });
  app.get('/api/cloud/claim', async (_request, reply) => {
    if (status().claimedAt !== null) return reply.code(409).send(conflict);
    const chipId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
    const claimSecret = `HJK4-9QRS-WXC7-BZT2-FMN5-DGV8-KL3${codes % 10}`;
    return { chipId, claimSecret, uri: `https://${host}/claim#chipId=${chipId}&claimSecret=${claimSecret}` };
  });
  app.post('/api/cloud/unclaim', async (_request, reply) => {
    codes += 1;
    become('unclaimed');
    return reply.code(204).send();
  });
  app.get('/api/cloud/activity', () => (mood === 'full' ? [] : asked(firstDevice)));
  app.get('/api/cloud/dead-letters', () =>
    [7, 3].map((seq) => ({
      seq,
      channel: 'events',
      reason: 'The cloud closed the link with code 1008 each time it got it.',
      at: ago(seq * minute),
    })),
  );
  app.post('/api/cloud/dead-letters/send', () => {
    become('connected');
    return { count: 2 };
  });
  return { setMood: become };
}
