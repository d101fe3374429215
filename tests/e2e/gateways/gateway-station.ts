import assert from 'node:assert/strict';
import type { Device } from '@station/protocol/devices';
import type { Installation } from '../backend/installation.ts';

/** A request of the owner. */
export async function call<T>(station: Installation, method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(`${station.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${await station.logIn()}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return (text === '' ? null : JSON.parse(text)) as T;
}

export async function find(station: Installation, name: string): Promise<Device | undefined> {
  return (await call<Device[]>(station, 'GET', '/api/devices')).find((one) => one.name === name);
}
