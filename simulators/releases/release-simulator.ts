import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import { Readable } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { createFirmwareOffer, type FirmwareOffer } from './firmware-offer.ts';
import { controlPage } from './control-page.ts';
import { openImageFolder } from './image-folder.ts';
import { openReleaseSigner, type ReleaseSigner } from './release-signer.ts';
import { createThrottle } from './throttle.ts';
import { openOffers, type Offer, type Offers } from './offers.ts';
import { behaviours, stationImages, type Behaviour, type ImageRecipe } from './station-images.ts';

export type ReleaseSimulator = AsyncDisposable & {
  /** Address of the control page. */
  url: string;
  /** UPDATE_SERVER_URL of a station. Images are at `images/` beside it, firmware at `firmware/`. */
  manifestUrl: string;
  /** UPDATE_PUBLIC_KEY of a station: every manifest is signed. Made at the first start. */
  publicKey: string;
  /** The releases offered so far, latest first. */
  offers(): readonly Offer[];
  offer(behaviour: Behaviour): Promise<Offer>;
  /** While unplugged, connections for the manifest and images are cut. The control page still works. */
  setPlugged(plugged: boolean): void;
};

export type ReleaseSimulatorOptions = {
  /** Folder for offers and images. */
  folder: string;
  /** 0: a free port. */
  port: number;
  recipe?: ImageRecipe;
  /** Limit for all image downloads together; default: none. */
  bytesPerSecond?: number;
  /** Whether to offer newer firmware for the virtual lamps; default true. */
  offersFirmware?: boolean;
  /** URL of the station's web page, for a link. */
  station?: string;
  onOffer?: (offer: Offer) => void;
  /** Adds more pages to the server. */
  addPages?: (app: FastifyInstance) => void;
  /** Path and title of one of them, for a link. */
  link?: { path: string; title: string };
};

/** A release server on loopback, for a station on the process engine. */
export async function startReleaseSimulator(options: ReleaseSimulatorOptions): Promise<ReleaseSimulator> {
  const { folder, bytesPerSecond = Infinity, recipe = stationImages, offersFirmware = true } = options;
  const imageFolder = join(folder, 'images');
  const images = await openImageFolder(imageFolder);
  const offers = await openOffers({ folder, images, recipe });
  const signer = await openReleaseSigner(join(folder, 'signing-key.pem'));
  const runner = createExclusiveRunner();
  const line = { plugged: true };
  const offer = async (behaviour: Behaviour): Promise<Offer> => {
    const made = await runner.run(() => offers.add(behaviour));
    options.onOffer?.(made);
    return made;
  };

  const app = fastify({ forceCloseConnections: true });
  acceptForms(app);
  app.addHook('onRequest', async (request, reply) => {
    if (!isOwnPage(request))
      return reply.code(403).send(
        'This request is only allowed from the page of this server.\
    ',
      );
  });
  const firmware = offersFirmware ? createFirmwareOffer() : createFirmwareOffer(null);
  serveReleases(app, { offers, signer, firmware, imageFolder, line, throttle: createThrottle(bytesPerSecond) });
  serveControl(app, { offers, line, offer, station: options.station ?? null, link: options.link ?? null });
  options.addPages?.(app);
  await app.listen({ host: '127.0.0.1', port: options.port });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  return {
    url,
    manifestUrl: `${url}manifest.json`,
    publicKey: signer.publicKey,
    offers: offers.list,
    offer,
    setPlugged: (plugged) => {
      line.plugged = plugged;
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
}

type Line = { plugged: boolean };

function serveReleases(
  app: FastifyInstance,
  parts: {
    offers: Offers;
    signer: ReleaseSigner;
    firmware: FirmwareOffer;
    imageFolder: string;
    line: Line;
    throttle: ReturnType<typeof createThrottle>;
  },
): void {
  const { offers, signer, firmware, imageFolder, line, throttle } = parts;
  const cutUnlessPlugged = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (line.plugged) return;
    reply.hijack();
    request.raw.socket.destroy();
  };
  app.get('/manifest.json', { onRequest: cutUnlessPlugged }, async (request, reply) => {
    const { bytes, etag } = offers.manifest();
    void reply.header('etag', etag).header('cache-control', 'no-cache');
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type('application/json').send(bytes);
  });
  app.get('/manifest.json.minisig', { onRequest: cutUnlessPlugged }, async () => signer.sign(offers.manifest().bytes));
  app.get('/releases/:file', { onRequest: cutUnlessPlugged }, async (request, reply) => {
    const { file } = request.params as { file: string };
    const [, version = '', signature] = /^(.+)\.json(\.minisig)?$/.exec(file) ?? [];
    const found = offers.manifestAt(version);
    if (found === null) return reply.code(404).send('There is no such release.\n');
    if (signature !== undefined) return signer.sign(found.bytes);
    return reply.type('application/json').send(found.bytes);
  });
  app.get('/firmware/manifest.json.minisig', { onRequest: cutUnlessPlugged }, async (_request, reply) => {
    const found = firmware.find('manifest.json');
    return found === null ? reply.code(404).send('There is no such firmware.\n') : signer.sign(found.bytes);
  });
  app.get('/firmware/*', { onRequest: cutUnlessPlugged }, async (request, reply) => {
    const { '*': file } = request.params as { '*': string };
    const found = firmware.find(file);
    if (found === null) return reply.code(404).send('There is no such firmware.\n');
    void reply.header('etag', found.etag);
    if (request.headers['if-none-match'] === found.etag) return reply.code(304).send();
    const isManifest = file.endsWith('.json');
    return reply.type(isManifest ? 'application/json' : 'application/octet-stream').send(Buffer.from(found.bytes));
  });
  app.get('/images/*', { onRequest: cutUnlessPlugged }, async (request, reply) => {
    const { '*': path } = request.params as { '*': string };
    const file = join(imageFolder, normalize(`/${path}`));
    const bytes = await readFile(file).catch(() => null);
    if (!bytes) return reply.code(404).send('There is no such image.\n');
    const body = Readable.from(throttle.send(bytes), { objectMode: false });
    // The server may be unplugged during the download.
    const cut = setInterval(() => line.plugged || request.raw.socket.destroy(), 100);
    void once(reply.raw, 'close').then(() => clearInterval(cut));
    return reply.type('application/octet-stream').header('content-length', bytes.length).send(body);
  });
}

function serveControl(
  app: FastifyInstance,
  parts: {
    offers: Offers;
    line: Line;
    offer: (behaviour: Behaviour) => Promise<Offer>;
    station: string | null;
    link: { path: string; title: string } | null;
  },
): void {
  const { offers, line, offer, station, link } = parts;
  app.get('/', async (_request, reply) => {
    const [latest] = offers.list();
    const next = `1.${Number(latest?.version.split('.')[1] ?? -1) + 1}.0`;
    void reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'");
    void reply.header('cache-control', 'no-store');
    return reply
      .type('text/html')
      .send(controlPage({ offers: offers.list(), plugged: line.plugged, next, station, link }));
  });
  app.get('/offers', async () => ({ plugged: line.plugged, offers: offers.list() }));
  app.post('/offers/:behaviour', async (request, reply) => {
    const { behaviour } = request.params as { behaviour: string };
    const known = behaviours.find((each) => each === behaviour);
    if (!known) return reply.code(404).send('There is no release with this behaviour.\n');
    return answer(request, reply, await offer(known));
  });
  for (const plugged of [true, false]) {
    app.post(plugged ? '/plug-in' : '/unplug', async (request, reply) => {
      line.plugged = plugged;
      return answer(request, reply, { plugged });
    });
  }
}

/** A browser is redirected to the page; a program gets JSON. */
function answer(request: FastifyRequest, reply: FastifyReply, body: object): FastifyReply {
  const wantsPage = request.headers.accept?.includes('text/html') ?? false;
  return wantsPage ? reply.redirect('/', 303) : reply.send(body);
}

/** Buttons send an empty form. */
function acceptForms(app: FastifyInstance): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, _body, done) =>
    done(null, {}),
  );
}

/** Rejects requests from pages of other sites and to other host names. */
function isOwnPage(request: FastifyRequest): boolean {
  const { origin, host } = request.headers;
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host ?? '')) return false;
  return origin === undefined || origin === `http://${host}`;
}
