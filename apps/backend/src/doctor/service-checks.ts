import { join } from 'node:path';
import type { CheckOutcome } from '@station/kit/doctor-decide';
import type { BackendFindingCode } from '@station/protocol/doctor-findings';
import { readTextFile } from './adapters/data-files.ts';
import { isListening, probeBroker, probeHttp } from './adapters/network-probe.ts';
import type { MqttConfig } from '../mqtt/mqtt.ts';
import { decideExternalBroker, decideOwnBroker, decideWebApp, decideWebServer, isBackend } from './service-decide.ts';

export type ServerConfig = { host: string; port: number; mqtt: MqttConfig; webDir: string | null };

type Outcome = CheckOutcome<BackendFindingCode> | null;

/** Where a server on this machine is reached when it listens on every address. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

const urlOf = ({ host, port }: ServerConfig): string => {
  const name = reachable(host);
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}/api/health`;
};

/** Null: the backend takes any free port, so nobody knows which. */
export async function checkWebServer(config: ServerConfig, signal: AbortSignal): Promise<Outcome> {
  if (config.port === 0) return null;
  return decideWebServer(`${config.host}:${config.port}`, config.port, await probeHttp(urlOf(config), signal));
}

export async function checkBroker(config: ServerConfig, signal: AbortSignal): Promise<Outcome> {
  const { mqtt } = config;
  if (mqtt.kind === 'external') {
    const { url, username, password, caFile } = mqtt;
    // An unreadable file is a finding of its own; the login then fails too.
    const content = caFile === null ? null : await readTextFile(caFile);
    const authority = content !== null && 'text' in content ? content.text : null;
    return decideExternalBroker(new URL(url).host, await probeBroker(url, { username, password, authority }));
  }
  if (mqtt.port === 0 || config.port === 0) return null;
  const isBackendRunning = isBackend(await probeHttp(urlOf(config), signal));
  const facts = { isListening: await isListening(reachable(mqtt.host), mqtt.port, signal), isBackendRunning };
  return decideOwnBroker(`${mqtt.host}:${mqtt.port}`, mqtt.port, facts);
}

/** The page and what it loads first. Null: another program serves the web app. */
export async function checkWebApp({ webDir }: ServerConfig): Promise<Outcome> {
  if (webDir === null) return null;
  const page = await readTextFile(join(webDir, 'index.html'));
  if ('failure' in page) return decideWebApp(webDir, ['index.html']);
  const needed = [...page.text.matchAll(/(?:src|href)="\/([^"?#]+\.(?:js|css))"/g)].map(([, name = '']) => name);
  const missing: string[] = [];
  for (const name of new Set(needed)) if ('failure' in (await readTextFile(join(webDir, name)))) missing.push(name);
  return decideWebApp(webDir, missing);
}
