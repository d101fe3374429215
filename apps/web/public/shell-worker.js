/**
 * Opens the app while the station cannot be reached. As long as the station answers, pages come from it, so a kept copy never hides a
 * release: neither a newer nor a previous one. Only files whose names change with their content are taken from the copy first.
 */

/** Written in front of this file by the build (`vite.config.ts`): a name for the release, the file its page begins with, and all files. */
const { name, entry, files } = self.release;

const prefix = 'station-shell-';
const page = '/';
/** A station that takes longer counts as out of reach: far from home, a connection can hang for minutes. */
const waitMs = 4_000;
/** Paths of the backend and files are no pages of the app. */
const notPages = /^\/(api|ws|provisioning|metrics|firmware|assets)(\/|$)|\.[^/]+$/;

self.addEventListener('install', (event) => {
  // Where the browser knows this: these requests do not wait for the worker to start.
  const past = event.addRoutes?.({ condition: { urlPattern: '/api/*' }, source: 'network' });
  event.waitUntil(Promise.all([past?.catch(() => undefined), keepFiles()]).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  event.waitUntil(
    Promise.all([removeKept((key) => key !== prefix + name), self.registration.navigationPreload?.enable()]),
  );
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== self.location.origin) return;
  if (request.mode === 'navigate') {
    if (!notPages.test(pathname)) event.respondWith(openPage(event));
  } else if (files.includes(pathname)) {
    event.respondWith(kept(pathname).then((found) => found ?? fetch(request)));
  }
});

const kept = (path) => caches.match(path, { cacheName: prefix + name });

async function keepFiles() {
  const cache = await caches.open(prefix + name);
  const answer = await fetch(page, { cache: 'no-cache' });
  if (!isOfThisRelease(await answer.clone().text())) throw new Error('The station serves another release now.');
  await cache.addAll(files);
  await cache.put(page, answer);
}

async function removeKept(isOld) {
  const keys = await caches.keys();
  await Promise.all(keys.filter((key) => key.startsWith(prefix) && isOld(key)).map((key) => caches.delete(key)));
}

const isOfThisRelease = (html) => html.includes(entry);

async function openPage(event) {
  const asked = fromStation(event);
  event.waitUntil(asked.then(followRelease).catch(() => undefined));
  const answer = await Promise.race([
    asked.catch(() => null),
    new Promise((resolve) => setTimeout(resolve, waitMs, null)),
  ]);
  // A proxy answers for a web app that is away.
  if (answer !== null && ![502, 503, 504].includes(answer.status)) return answer;
  return (await kept(page)) ?? asked;
}

const fromStation = async (event) => (await event.preloadResponse) ?? fetch(event.request);

/**
 * The browser replaces this worker when the station has another one. A release without any is noticed here: then this one goes. So does
 * one whose station was replaced by something else.
 */
async function followRelease(answer) {
  if (!answer.ok || isOfThisRelease(await answer.clone().text())) return;
  try {
    await self.registration.update();
  } catch {
    if (!(await isGone())) return;
    await self.registration.unregister();
    await removeKept(() => true);
  }
}

/** Whether the station says that it has no such worker. A connection that was cut says nothing. */
async function isGone() {
  const answer = await fetch(self.location.href, { cache: 'no-store' }).catch(() => null);
  if (answer === null) return false;
  const isScript = /javascript/.test(answer.headers.get('content-type') ?? '');
  return answer.ok ? !isScript : answer.status === 404 || answer.status === 410;
}
