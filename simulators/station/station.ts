import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeDisk, readText } from '@station/kit/durable-files';
import type { OperationPhase, Status } from '@station/protocol/agent-api';
import type { AgentWifi } from '@station/protocol/rest';
import { readOrMakeLogins } from '../devices/devices-file.ts';
import { startFleet } from '../devices/fleet.ts';
import { waitingDevices } from '../radio/peripheral-plan.ts';
import { serveRadioControl } from '../radio/radio-control.ts';
import { startVirtualRadio } from '../radio/radio.ts';
import { createUnknownDevices } from '../radio/unknown-devices.ts';
import { startReleaseSimulator } from '../releases/release-simulator.ts';
import { createAgentClient, type AgentClient } from './agent-client.ts';
import { startAgentProcess, type AgentProcess } from './agent-process.ts';
import type { StationConfig } from './config.ts';
import { makeFolders } from './folders.ts';
import { readIdentity } from './identity.ts';
import { findFreePort } from '@station/kit/free-port';
import { findKeptPort, isTaken, listenOnUsual } from './ports.ts';
import type { Printer } from './printer.ts';
import { startProxy } from './proxy.ts';
import { markRunning } from './running.ts';
import { writeStack } from './stack.ts';
import { buildWeb, isWebStale } from './web-build.ts';

/** An error that ends `npm start`, with a text for people. */
export class StartFailure extends Error {}

const usualPort = 8080;
const usualReleasePort = 8090;
/** Slow enough to watch the progress of a download. */
const bytesPerSecond = 1.5 * 1024 * 1024;
/** Write speed of a device, slow enough to watch an update. */
const otaBytesPerSecond = 32 * 1024;
/** The Wi-Fi of the virtual home. */
const homeNetwork = { ssid: 'Station home', password: 'simulated-wifi' };
const upWithinMs = 120_000;
/** Two of each type, one with each profile. */
const deviceCount = 8;
const fieldDeviceCount = 4;

/**
 * Starts a whole station on loopback: release server, reverse proxy, virtual devices and agent. The agent starts the backend
 * and the web app. Prints the addresses on `printer`.
 * @throws {StartFailure} when it cannot be started.
 */
export async function startStation(
  config: StationConfig,
  options: { printer: Printer; signal: AbortSignal; onAgentEnd: (message: string) => void },
): Promise<AsyncDisposable> {
  const { printer, signal } = options;
  const folders = await makeFolders(config.stateFolder);
  await using stack = new AsyncDisposableStack();
  const mark = await markRunning(join(folders.sockets, 'running.sock'));
  if ('runsAt' in mark) throw new StartFailure(`This station is already running: ${mark.runsAt}`);
  stack.use(mark);
  printer.line('Station');
  if (await isWebStale(config.root)) {
    await printer.during('Building the web page', () => buildWeb({ ...config, signal }));
  }
  const backendPort = await findFreePort();
  const frontendPort = await findFreePort();
  const mqttPort = await findKeptPort(join(folders.state, 'mqtt-port'));
  // Beside the agent's socket (apps/agent/src/stack/operation-file.ts).
  const operationFile = join(folders.sockets, 'public/operation.json');
  const web = await listenOnUsual(config.port, usualPort, (port) =>
    startProxy({ port, backendPort, frontendPort, firmwareFolder: folders.firmware, operationFile }),
  ).catch((error: unknown) => failTaken(error, 'PORT', config.port));
  stack.use(web);
  const identity = await readIdentity(folders.state);
  const agentSocket = join(folders.sockets, 'agent.sock');
  const { stationId } = identity;
  const mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
  const unknownDevices = stack.use(createUnknownDevices({ url: mqttUrl, stationId }));
  const radio = stack.use(
    await startVirtualRadio({
      socketPath: join(folders.sockets, 'radio.sock'),
      plans: waitingDevices,
      networks: [homeNetwork],
      folder: folders.radio,
    }),
  );
  const client = createAgentClient(agentSocket, identity.agentToken);
  const releases = await listenOnUsual(config.releasePort, usualReleasePort, (port) =>
    startReleaseSimulator({
      folder: folders.releases,
      port,
      bytesPerSecond,
      offersFirmware: config.offersFirmware,
      station: web.url,
      // The station would check within half a minute; this makes the offer visible immediately.
      onOffer: () => void client.check(),
      addPages: (app) => serveRadioControl(app, { radio, unknownDevices }),
      link: { path: '/radio', title: 'New devices and radio' },
    }),
  ).catch((error: unknown) => failTaken(error, 'RELEASE_PORT', config.releasePort));
  stack.use(releases);
  const devicesFile = join(folders.state, 'devices.json');
  const logins = await readOrMakeLogins(devicesFile, deviceCount, fieldDeviceCount);
  await writeStack({
    root: config.root,
    folders,
    identity,
    backendPort,
    frontendPort,
    mqttPort,
    devicesFile,
    agentSocket,
    radioSocket: radio.socketPath,
    cloud: config.cloud,
    publicUrl: web.url,
  });
  // Before the backend, because devices wait for the broker, as real ones do after a power cut.
  stack.use(
    startFleet({
      url: mqttUrl,
      stationId,
      logins,
      flashFolder: join(folders.state, 'devices'),
      otaBytesPerSecond,
      httpUrl: web.url,
    }),
  );
  const agent = stack.use(
    await startAgentProcess({ config, folders, identity, releases, backendPort, socketPath: agentSocket }),
  );
  const status = await untilUp({ client, agent, printer, signal });
  if (config.forwardsWifi) await forwardWifi({ web: web.url, agentToken: identity.agentToken });
  mark.publish(web.url);
  void agent.ended.then((code) => {
    if (!signal.aborted) options.onAgentEnd(`The agent ended (exit code ${code}). Its log: ${agent.logFile}`);
  });
  printSummary(printer, {
    status,
    web: web.url,
    releases: releases.url,
    setupCode: await readText(nodeDisk, join(folders.backend, 'setup-code')),
    logs: `${agent.logFile}, ${join(folders.engine, 'logs')}`,
  });
  return stack.move();
}

/**
 * What the agent does after it joined a Wi-Fi network; this one manages none. A network that the backend has already stays: a person may have
 * chosen it. A backend that does not answer has no network for new devices until the next start.
 */
async function forwardWifi({ web, agentToken }: { web: string; agentToken: string }): Promise<void> {
  const headers = { authorization: `Bearer ${agentToken}`, 'content-type': 'application/json' };
  const address = `${web}/api/agent/wifi`;
  const known = await fetch(address, { headers }).catch(() => null);
  if (known?.ok !== true || ((await known.json()) as AgentWifi).wifi !== null) return;
  await fetch(address, { method: 'POST', headers, body: JSON.stringify({ wifi: homeNetwork }) }).catch(() => undefined);
}

const phases: Record<OperationPhase, string> = {
  preparing: 'checking the release',
  pulling: 'downloading',
  switching: 'starting',
  verifying: 'checking its health',
  reverting: 'rolling back',
  verifying_revert: 'checking its health',
};

/** Waits until the agent reports that a release is up. */
async function untilUp(parts: {
  client: AgentClient;
  agent: AgentProcess;
  printer: Printer;
  signal: AbortSignal;
}): Promise<Status | null> {
  const { client, agent, printer, signal } = parts;
  let code: number | null = null;
  void agent.ended.then((ended) => (code = ended));
  const deadline = performance.now() + upWithinMs;
  return printer.during('Starting the station', async (progress) => {
    for (;;) {
      signal.throwIfAborted();
      if (code !== null) throw new StartFailure(`The agent ended (exit code ${code}). Its log: ${agent.logFile}`);
      const status = await client.status();
      if (status && isUp(status)) return status;
      if (performance.now() > deadline) return null;
      const operation = status?.operation;
      if (operation) {
        const percent = operation.phase === 'pulling' ? operation.progress.percent : null;
        progress({ text: `release ${operation.version ?? ''}, ${phases[operation.phase]}`, percent });
      }
      await delay(100, undefined, { signal });
    }
  });
}

function isUp({ currentVersion, operation, stack }: Status): boolean {
  const running = stack.services.filter(({ state }) => state === 'running');
  return (
    currentVersion !== null && operation === null && running.length > 0 && running.length === stack.services.length
  );
}

function printSummary(
  printer: Printer,
  facts: { status: Status | null; web: string; releases: string; setupCode: string | null; logs: string },
): void {
  const { status, web, releases, setupCode, logs } = facts;
  printer.line();
  if (status === null) printer.line('  The station is not running yet. The agent retries; its logs give the reason.');
  printer.line(`  Open             ${web}`);
  if (setupCode !== null) printer.line(`  Set-up code      ${setupCode.trim()}   (needed once, to create the owner)`);
  if (status !== null) printer.line(`  Release          ${status.currentVersion ?? 'none'}`);
  printer.line(`  Offer releases   ${releases}`);
  printer.line(`  New devices      ${releases}radio`);
  printer.line(`  Logs             ${logs}`);
  printer.line('  Stop             Ctrl-C');
  printer.line();
}

function failTaken(error: unknown, variable: string, port: number | null): never {
  if (!isTaken(error)) throw error;
  throw new StartFailure(`Port ${port ?? ''} of ${variable} cannot be used: another program listens on it.`);
}
