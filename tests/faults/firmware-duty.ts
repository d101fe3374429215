import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOtaBackend } from '@station/agent/firmware/adapters/ota-backend';
import { cacheDisk } from '@station/agent/firmware/adapters/cache-disk';
import { fetchSmallFile } from '@station/agent/core/adapters/http-client';
import { openDownload } from '@station/agent/firmware/adapters/http-download';
import type { UpdateKeys } from '@station/agent/core/update-keys';
import { createFirmware, type Firmware } from '@station/agent/firmware/firmware';
import { createFirmwareSource } from '@station/agent/firmware/firmware-poll';
import { systemClock } from '@station/kit/clock';
import { createAgentConditions } from '@station/kit/conditions';
import { createLogger } from '@station/kit/logger';
import { type AgentEvent, events as catalogue } from '@station/protocol/events';
import { type FirmwareServer, startFirmwareServer } from '@station/simulators/firmware/firmware-server';
import { type OtaBackendDouble, startOtaBackend } from '../rig/ota-backend.ts';
import { waitFor } from '../rig/program.ts';
import { createRandom } from './choice.ts';

/** The agent's firmware duty in this process: real HTTP, a real disk, and a server with faults on demand. */
export type Duty = AsyncDisposable & {
  server: FirmwareServer;
  backend: OtaBackendDouble;
  folder: string;
  cacheDir: string;
  events: AgentEvent[];
  firmware(): Firmware;
  conditions(): string[];
  /** Starts the duty. A running one is stopped first, at any point. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Asks for the manifest now. @returns the events from then on until `event`. */
  checkUntil(event: AgentEvent['event']): Promise<AgentEvent[]>;
  until(event: AgentEvent['event'], after?: number): Promise<AgentEvent>;
};

export type DutyOptions = {
  manifestUrl?: (folder: string) => URL;
  keys?: UpdateKeys;
  maxBytes?: number;
  bytesPerSecond?: number;
  backendToken?: string;
  silenceMs?: number;
  isAutomatic?: () => boolean;
  isLineTaken?: () => boolean;
  isUsualAddress?: boolean;
  /** FIRMWARE_FOLDER. */
  folder?: string;
};

export async function createDuty(options: DutyOptions = {}): Promise<Duty> {
  const folder = await mkdtemp(join(tmpdir(), 'station-firmware-'));
  const { bytesPerSecond = Infinity, maxBytes = 2 ** 21, silenceMs = 5000 } = options;
  const server = await startFirmwareServer({ bytesPerSecond });
  const backend = await startOtaBackend();
  const cacheDir = join(folder, 'cache');
  const events: AgentEvent[] = [];
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  logger.subscribe((event) => void events.push(event));
  let life: {
    firmware: Firmware;
    conditions: ReturnType<typeof createAgentConditions>;
    stop: () => Promise<void>;
  } | null = null;

  const until: Duty['until'] = async (name, after = 0) => {
    const found = () => events.slice(after).find(({ event }) => event === name);
    await waitFor(`event ${name} in ${JSON.stringify(events.slice(after))}`, () => found() !== undefined);
    return found() as AgentEvent;
  };
  const stop = async (): Promise<void> => {
    await life?.stop();
    life = null;
  };
  const alive = () => {
    if (!life) throw new Error('the duty does not run');
    return life;
  };
  return {
    server,
    backend,
    folder,
    cacheDir,
    events,
    until,
    stop,
    firmware: () => alive().firmware,
    conditions: () =>
      alive()
        .conditions.list()
        .map(({ id }) => id),
    checkUntil: async (event) => {
      const before = events.length;
      await alive().firmware.check();
      await until(event, before);
      return events.slice(before);
    },
    start: async () => {
      await stop();
      const conditions = createAgentConditions(systemClock, logger);
      const firmware = createFirmware({
        source: createFirmwareSource({
          url: options.manifestUrl?.(folder) ?? new URL(server.manifestUrl),
          keys: options.keys ?? null,
          maxBytes,
          fetchFile: fetchSmallFile,
        }),
        disk: cacheDisk,
        open: (url, given) => openDownload(url, { ...given, silenceMs }),
        backend: createOtaBackend({ url: new URL(backend.origin), agentToken: options.backendToken ?? backend.token }),
        conditions,
        clock: systemClock,
        logger,
        random: createRandom(5),
        directory: cacheDir,
        folder: options.folder ?? '/firmware',
        dataDir: join(folder, 'data'),
        bootId: 'boot',
        maxBytes,
        checkIntervalMs: 3600_000,
        isUsualAddress: options.isUsualAddress ?? false,
        isClockRight: async () => true,
        isAutomatic: options.isAutomatic ?? (() => true),
        isLineTaken: options.isLineTaken ?? (() => false),
      });
      const stopping = new AbortController();
      const ended = firmware.run(stopping.signal).catch((error: unknown) => {
        if (!stopping.signal.aborted) throw error;
      });
      life = {
        firmware,
        conditions,
        stop: async () => {
          stopping.abort(new Error('stopped'));
          await ended;
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      await stop();
      await server[Symbol.asyncDispose]();
      await backend[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
