/**
 * Shows push messages of the station, also while no page is open. It has a scope of its own (`/push/`) and handles no requests, so that
 * another service worker can make the pages work offline. The content is `PushContent` of packages/protocol.
 */

/** Browsers take the permission away when a push message shows nothing, so every message shows something. */
function contentOf(event) {
  try {
    const { title, body, tag, path, lang } = event.data.json();
    return { title: String(title), body: String(body), tag: String(tag), path: String(path), lang: String(lang) };
  } catch {
    return { title: 'Station', body: '', tag: 'station', path: '/', lang: 'en' };
  }
}

self.addEventListener('install', () => self.skipWaiting());

self.addEventListener('push', (event) => {
  const { title, path, ...options } = contentOf(event);
  event.waitUntil(
    self.registration.showNotification(title, {
      ...options,
      data: { path },
      icon: '/icon-192.png',
      badge: '/badge-96.png',
    }),
  );
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.path ?? '/'));
});

/** Brings an open page of the station to the front, or opens one. Only pages of this station are opened. */
async function open(path) {
  const target = new URL(path, self.location.origin);
  const url = target.origin === self.location.origin ? target.href : self.location.origin;
  const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  for (const client of windows) {
    if (!('focus' in client)) continue;
    client.postMessage({ type: 'station_open', path: target.pathname });
    return client.focus();
  }
  return self.clients.openWindow(url);
}
