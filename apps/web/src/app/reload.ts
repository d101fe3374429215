const stampKey = 'station.reloaded-at';
const notWithinMs = 30_000;

/**
 * After an update the files of the page before are gone: a part of the page that was not fetched yet is then missing, and
 * loading the page again brings the new one. Once only, so that a real fault does not go round in circles.
 */
export function reloadOnMissingChunk(): void {
  addEventListener('vite:preloadError', () => void reloadOnce());
}

async function reloadOnce(): Promise<void> {
  // While the station is away there is nothing to load: of this page, which comes back by itself, a browser's error would remain.
  const isThere = await fetch('/', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (!isThere) return;
  try {
    if (Date.now() - Number(sessionStorage.getItem(stampKey) ?? 0) < notWithinMs) return;
    sessionStorage.setItem(stampKey, String(Date.now()));
  } catch {
    // Without storage there is no telling whether it was tried before: leave it to the error view.
    return;
  }
  location.reload();
}
