import type { NotificationsView, PushSubscriptionPut } from '@station/protocol/notifications';

/** Why this browser cannot show notifications now; null: it can. */
export type PushObstacle =
  /** The page is not encrypted, or its certificate is not trusted. */
  | 'insecure'
  /** On iPhones and iPads only an app on the home screen may. */
  | 'home_screen'
  /** This browser has no push messages. */
  | 'unsupported'
  /** The person said no, and only they can change it in the browser. */
  | 'denied';

type Surroundings = {
  isSecure: boolean;
  hasPush: boolean;
  isApple: boolean;
  isInstalled: boolean;
  permission: NotificationPermission | null;
};

export function pushObstacle(facts: Surroundings): PushObstacle | null {
  if (!facts.isSecure) return 'insecure';
  if (!facts.hasPush) return facts.isApple && !facts.isInstalled ? 'home_screen' : 'unsupported';
  return facts.permission === 'denied' ? 'denied' : null;
}

export function surroundings(): Surroundings {
  // An iPad that asks for desktop pages calls itself a Mac, but has a touch screen.
  const isApple =
    /iPhone|iPad/.test(navigator.userAgent) || (/Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 1);
  return {
    isSecure: isSecureContext,
    hasPush: 'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis,
    isApple,
    isInstalled: matchMedia('(display-mode: standalone)').matches,
    permission: 'Notification' in globalThis ? Notification.permission : null,
  };
}

const worker = '/push-worker.js';
const scope = '/push/';

/** Asks the person and the push service of the browser. @throws DOMException as `PushManager.subscribe` does. */
export async function subscribe(
  publicKey: string,
  language: PushSubscriptionPut['language'],
): Promise<PushSubscriptionPut> {
  if ((await Notification.requestPermission()) !== 'granted')
    throw new DOMException('no permission', 'NotAllowedError');
  const registration = await navigator.serviceWorker.register(worker, { scope, updateViaCache: 'none' });
  await activeOf(registration);
  const key = bytesOf(publicKey);
  const known = await registration.pushManager.getSubscription();
  // One for another station, or from before its keys were lost.
  if (known !== null && !isSame(known.options.applicationServerKey, key)) await known.unsubscribe();
  const options = { userVisibleOnly: true, applicationServerKey: key };
  return putOf(await registration.pushManager.subscribe(options), language);
}

/** The browser forgets it too, so that its push service stops. */
export async function unsubscribe(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration(scope);
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
}

/** `subscribe` of the push manager needs an active worker. */
async function activeOf(registration: ServiceWorkerRegistration): Promise<void> {
  const worker = registration.installing ?? registration.waiting;
  if (registration.active !== null || worker === null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  worker.addEventListener('statechange', () => worker.state === 'activated' && resolve());
  await promise;
}

function putOf(subscription: PushSubscription, language: PushSubscriptionPut['language']): PushSubscriptionPut {
  const { endpoint = '', keys = {} } = subscription.toJSON();
  return { endpoint, keys: { p256dh: keys['p256dh'] ?? '', auth: keys['auth'] ?? '' }, language };
}

export function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

export function isSame(known: ArrayBuffer | null, key: Uint8Array): boolean {
  if (known === null) return false;
  const bytes = new Uint8Array(known);
  return bytes.length === key.length && bytes.every((byte, index) => byte === key[index]);
}

export const ownSubscription = (view: NotificationsView) =>
  view.push.subscriptions.find(({ isThisSession }) => isThisSession) ?? null;
