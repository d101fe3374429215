import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { DeviceLoginSheet } from '@station/protocol/provisioning';
import { Value } from 'typebox/value';
import { escapeHtml, htmlPage } from '../releases/html-page.ts';

/** A device's own page, on loopback, where a person enters the login that the station shows. */
export type DevicePage = AsyncDisposable & { url: string };

const fields: Record<keyof DeviceLoginSheet, string> = {
  device_id: 'Device id',
  device_token: 'Token',
  station_id: 'Station id',
  mqtt_host: 'MQTT host',
  mqtt_port: 'MQTT port',
};

/** @param options.onLogin called with a complete login, once. */
export async function startDevicePage(options: {
  title: string;
  onLogin: (login: DeviceLoginSheet) => Promise<void>;
}): Promise<DevicePage> {
  const { title, onLogin } = options;
  let isDone = false;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') return send(response, 200, form(title, {}, false));
    const given = new URLSearchParams(await text(request));
    const values = Object.fromEntries(Object.keys(fields).map((name) => [name, given.get(name)?.trim() ?? '']));
    const login = { ...values, mqtt_port: Number(values['mqtt_port']) };
    const isComplete = Object.values(values).every((value) => value !== '') && Value.Check(DeviceLoginSheet, login);
    if (!isComplete || isDone) return send(response, 400, form(title, values, true));
    isDone = true;
    send(response, 200, htmlPage(title, '<p role="status">Saved. This device connects to the station now.'));
    response.once('finish', () => void onLogin(login));
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      await closed;
    },
  };
}

function send(response: ServerResponse, status: number, page: string): void {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', connection: 'close' };
  response.writeHead(status, headers).end(page);
}

function form(title: string, values: Record<string, string>, isRefused: boolean): string {
  const rows = Object.entries(fields).map(
    ([name, label]) =>
      `<p><label for="${name}">${label}</label><br><input id="${name}" name="${name}" value="${escapeHtml(values[name] ?? '')}" autocomplete="off">`,
  );
  return htmlPage(
    title,
    `<p>This is the page of a virtual device. Enter the login that the station shows.
${isRefused ? '<p class="off" role="alert">Please fill in every field; the port is a number.' : ''}
<form method="post">${rows.join('\n')}<p><button>Save</button></form>`,
  );
}
