import { gzipSync } from 'node:zlib';
import websocket from '@fastify/websocket';
import files from '@fastify/static';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { type Role, roles } from '@station/protocol/roles';
import type { ServerMessage } from '@station/protocol/socket';
import { addAccount } from './account.ts';
import { addAttention, attentionMoods } from './attention.ts';
import { addAutomations, automationMoods } from './automations.ts';
import { addCloud, cloudMoods } from './cloud.ts';
import { addDevices, type DeviceDouble, deviceMoods, previewDeviceIds } from './devices.ts';
import { addFirmware, firmwareMoods } from './firmware.ts';
import { addMembersAndSettings, peopleMoods } from './people.ts';
import { addProvisioning, provisioningMoods } from './provisioning.ts';
import { addMachine } from './machine.ts';
import { play, type World } from './run.ts';
import { ago, scenes } from './scenes.ts';

/** As strict as the policy of the reverse proxy, so that violations are noticed here. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const user = {
  id: '019a9d2f-0000-7000-8000-000000000001',
  email: 'olena@example.org',
  name: 'Olena Kovalenko',
  createdAt: ago(0),
};

/** Settings of the simulated station besides the scene: its people, and whether it answers. */
type Mood = {
  setUp: boolean;
  signedIn: boolean;
  role: Role;
  agent: 'here' | 'silent' | 'slow';
  socket: boolean;
};

/**
 * Serves the built web app with a simulated station, for viewing pages and for the bench `web-scale`. No test uses it.
 * @param options.deviceCount so many devices in place of the usual ones
 */
export async function createPreview(options: {
  root: string;
  deviceCount?: number;
}): Promise<{ app: FastifyInstance; talk: DeviceDouble['talk'] }> {
  const app = fastify({ forceCloseConnections: true });
  const mood: Mood = { setUp: true, signedIn: true, role: 'owner', agent: 'here', socket: true };
  const sockets = new Set<{ send(text: string): void; terminate(): void }>();
  const broadcast = (message: ServerMessage): void => sockets.forEach((socket) => socket.send(JSON.stringify(message)));
  const world: World = {
    status: scenes['ready']!(),
    away: false,
    emit: (event, fields) =>
      broadcast({ type: 'agent_event', at: ago(0), event: { time: ago(0), level: 'info', event, ...fields } }),
    cutSockets: () => sockets.forEach((socket) => socket.terminate()),
  };

  await app.register(websocket);
  await app.register(files, {
    root: options.root,
    preCompressed: true,
    setHeaders: (reply) => void reply.header('content-security-policy', policy),
  });
  app.addHook('onRequest', async (request, reply) => {
    const asked = request.url.startsWith('/api') || request.url.startsWith('/ws');
    if (!world.away || !asked) return;
    request.raw.socket.destroy();
    reply.hijack();
  });
  // As the reverse proxy does.
  app.addHook('onSend', async (request, reply, body) => {
    if (typeof body !== 'string' || body.length < 512 || !/^\/api\/(?!auth\/)/.test(request.url)) return body;
    void reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return gzipSync(body);
  });
  app.setNotFoundHandler((request, reply) =>
    request.url.startsWith('/api') ? fail(reply, 404, 'not_found') : reply.sendFile('index.html'),
  );
  addPeople(app, mood);
  addSystem(app, mood, world);
  addAccount(app);
  addMachine(app, () => world.status.wifi);
  const devices = addDevices(app, broadcast, options.deviceCount ?? null);
  const attention = addAttention(app, broadcast, previewDeviceIds);
  const provisioning = addProvisioning(app, broadcast, previewDeviceIds);
  const automations = addAutomations(app, broadcast);
  const firmware = addFirmware(app, broadcast);
  const cloud = addCloud(app, broadcast, '019a9d2f-0002-7000-8000-000000000001');
  const people = addMembersAndSettings(app, () => ({ user: { ...user, role: mood.role }, status: world.status }));
  app.get('/ws', { websocket: true }, (socket) => {
    if (!mood.socket) return socket.close(1001);
    socket.on('message', (data: Buffer) => {
      const { type } = JSON.parse(data.toString()) as { type: string };
      const at = ago(0);
      if (type === 'ping') socket.send(JSON.stringify({ type: 'pong', at }));
      if (type !== 'auth') return;
      sockets.add(socket);
      const station = { id: world.status.stationId, name: 'Kyiv flat' };
      const version = world.status.currentVersion ?? '0.0.0';
      socket.send(
        JSON.stringify({
          type: 'hello',
          at,
          version,
          station,
          user: { id: user.id, role: mood.role },
          tokenExpiresAt: ago(-900_000),
        }),
      );
      socket.send(JSON.stringify({ type: 'agent_link', at, connected: mood.agent === 'here' }));
    });
    socket.on('close', () => sockets.delete(socket));
  });
  app.post<{ Params: { scene: string }; Querystring: Record<string, string> }>(
    '/preview/:scene',
    async (request, reply) => {
      const scene = scenes[request.params.scene];
      if (!scene) return fail(reply, 404, 'not_found');
      const { query } = request;
      world.status = scene();
      world.away = query['away'] === 'true';
      mood.setUp = query['setUp'] !== 'false';
      mood.signedIn = query['signedIn'] !== 'false';
      mood.role = roles.find((role) => role === query['role']) ?? 'owner';
      mood.agent = query['agent'] === 'silent' ? 'silent' : query['agent'] === 'slow' ? 'slow' : 'here';
      mood.socket = query['socket'] !== 'false';
      people.setMood(peopleMoods.find((one) => one === query['people']) ?? 'some');
      automations.setMood(automationMoods.find((one) => one === query['automations']) ?? 'some');
      firmware.setMood(firmwareMoods.find((one) => one === query['firmware']) ?? 'calm');
      cloud.setMood(cloudMoods.find((one) => one === query['cloud']) ?? 'off');
      attention.setMood(attentionMoods.find((one) => one === query['attention']) ?? 'none');
      provisioning.setMood(provisioningMoods.find((one) => one === query['provisioning']) ?? 'near');
      devices.setMood(deviceMoods.find((one) => one === query['devices']) ?? 'some');
      if (world.away || !mood.socket) world.cutSockets();
      else world.emit('agent_ready', { addresses: [] });
      return { scene: request.params.scene };
    },
  );
  return { app, talk: devices.talk };
}

const fail = (reply: FastifyReply, statusCode: number, code: string): FastifyReply =>
  reply.code(statusCode).send({ statusCode, error: 'Error', code, message: `Simulated error ${code}.` });

function addPeople(app: FastifyInstance, mood: Mood): void {
  const session = (): object => ({
    accessToken: 'preview',
    expiresAt: ago(-900_000),
    user: { ...user, role: mood.role },
  });
  app.get('/api/auth/setup', () => ({ needed: !mood.setUp, stationName: mood.setUp ? 'Home' : null }));
  app.post<{ Body: { code: string } }>('/api/auth/setup', async (request, reply) => {
    if (request.body.code !== 'BCDF-2345-GHJK') return fail(reply, 403, 'setup_code_invalid');
    mood.setUp = true;
    mood.signedIn = true;
    return reply.code(201).send(session());
  });
  app.post<{ Body: { password: string } }>('/api/auth/login', async (request, reply) => {
    if (request.body.password === 'too often') return fail(reply.header('retry-after', '90'), 429, 'too_many_requests');
    if (request.body.password !== 'right password') return fail(reply, 401, 'invalid_credentials');
    mood.signedIn = true;
    return session();
  });
  app.post('/api/auth/refresh', async (_request, reply) =>
    mood.signedIn ? session() : fail(reply, 401, 'session_expired'),
  );
  app.post('/api/auth/logout', async (_request, reply) => {
    mood.signedIn = false;
    return reply.code(204).send();
  });
}

function addSystem(app: FastifyInstance, mood: Mood, world: World): void {
  app.get('/api/system/status', async (_request, reply) => {
    if (mood.agent === 'silent') return fail(reply, 502, 'agent_unreachable');
    if (mood.agent === 'slow') await new Promise((resolve) => setTimeout(resolve, 60_000));
    return world.status;
  });
  app.post('/api/system/check', async () => {
    await new Promise((resolve) => setTimeout(resolve, 800));
    world.status = { ...world.status, lastCheckAt: ago(0) };
    const { latestVersion, updateAvailable } = world.status;
    return { release: { ok: latestVersion !== null, latestVersion, updateAvailable }, firmware: { ok: true } };
  });
  app.post<{ Body: { version?: string } }>('/api/system/update', async (request, reply) => {
    if (world.status.operation) return fail(reply, 409, 'update_in_progress');
    void play(world, 'update', request.body.version ?? world.status.latestVersion ?? '1.2.0');
    return reply.code(202).send({ operationId: world.status.operation!.id });
  });
  app.post('/api/system/rollback', async (_request, reply) => {
    if (world.status.operation) return fail(reply, 409, 'update_in_progress');
    if (!world.status.rollback) return fail(reply, 409, 'nothing_to_roll_back');
    void play(world, 'rollback', world.status.rollback.version ?? '1.0.0');
    return reply.code(202).send({ operationId: world.status.operation!.id });
  });
}
