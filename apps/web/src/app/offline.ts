import type { QueryClient } from '@tanstack/react-query';
import type { User } from '@station/protocol/rest';
import type { SessionService } from '../api/session.ts';
import { forgetLastKnown, lastKnownCache } from './last-known.ts';

/*
 * What this browser keeps so that the app opens without the station: its files (public/shell-worker.js) and what home showed last.
 * Browsers allow it over HTTPS only; without it nothing is kept.
 */

/** What home shows. Nothing else is kept. */
const keptKeys = [
  ['devices'],
  ['device-types'],
  ['zones'],
  ['favourites'],
  ['scenes'],
  ['system', 'status'],
  ['station'],
] as const;

type LastKnown = { user: User; reads: { key: readonly string[]; data: unknown; readAt: number }[] };

const path = '/last-known';
/** As long as a session lasts without the station being asked. */
const notOlderThanMs = 30 * 24 * 60 * 60_000;
const saveEveryMs = 30_000;

/** Keeps the files of the app, and from now on what home shows. Call it once. */
export function keepForOffline(queries: QueryClient, session: SessionService): void {
  if (!('serviceWorker' in navigator)) return;
  // Fails where the certificate is not trusted, and in development.
  navigator.serviceWorker.register('/shell-worker.js', { scope: '/', updateViaCache: 'none' }).catch(() => undefined);
  const save = (): void => void saveLastKnown(queries, session).catch(() => undefined);
  save();
  setInterval(() => document.hidden || save(), saveEveryMs);
  document.addEventListener('visibilitychange', () => document.hidden && save());
}

/** @throws when the browser's storage is full or forbidden */
async function saveLastKnown(queries: QueryClient, session: SessionService): Promise<void> {
  const state = session.state.get();
  if (state.kind !== 'signed_in') return;
  // A guest's access ends automatically, which a browser without the station would not notice. What they saw with more rights goes too.
  if (state.user.role === 'guest') return forgetLastKnown();
  const reads = keptKeys.flatMap((key) => {
    const read = queries.getQueryState(key);
    return read?.data === undefined ? [] : [{ key, data: read.data, readAt: read.dataUpdatedAt }];
  });
  const known: LastKnown = { user: state.user, reads };
  const cache = await caches.open(lastKnownCache);
  await cache.put(path, new Response(JSON.stringify(known)));
  // Logged out meanwhile, perhaps in another tab.
  if (session.state.get().kind !== 'signed_in') await forgetLastKnown();
}

/** Shows what home showed last, while the station does not say who is logged in. */
export async function restoreLastKnown(queries: QueryClient, session: SessionService): Promise<void> {
  const answer = await caches.match(path, { cacheName: lastKnownCache });
  if (!answer) return;
  const { user, reads } = (await answer.json()) as LastKnown;
  if (reads.every(({ readAt }) => Date.now() - readAt > notOlderThanMs)) return forgetLastKnown();
  if (!['checking', 'unreachable'].includes(session.state.get().kind)) return;
  for (const { key, data, readAt } of reads) queries.setQueryData(key, data, { updatedAt: readAt });
  session.assume(user);
}

/** Removes everything: the station was reset, or it is another one. */
export async function forgetStation(): Promise<void> {
  if (!('serviceWorker' in navigator)) return;
  const registrations = await navigator.serviceWorker.getRegistrations();
  await Promise.all(registrations.map((one) => one.unregister()));
  await Promise.all((await caches.keys()).map((key) => caches.delete(key)));
}
