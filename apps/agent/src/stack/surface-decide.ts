import type { Surface, SurfaceFindings, SurfacePart } from './surface-ports.ts';

/** In the order in which a fault is named. */
const surfaceParts = ['setup', 'page', 'socket', 'logIn', 'devices'] as const satisfies readonly SurfacePart[];

/** Stable codes of what a release does not show any more; the web app has words for them. */
export const surfaceCodes = {
  setup: 'release_data_lost',
  page: 'release_page_broken',
  socket: 'release_socket_dead',
  logIn: 'release_log_in_broken',
  devices: 'release_devices_away',
} as const satisfies Record<SurfacePart, string>;

/** More are not needed to see that devices stay away, and the journal stays small. */
const maxDevices = 1000;

/** What the new release has to show. */
export const surfaceOf = (found: SurfaceFindings): Surface => ({
  page: found.page.kind,
  socket: found.socket,
  setupNeeded: found.setup,
  logIn: isRefusal(found.logIn),
  devices: found.devices.slice(0, maxDevices),
});

/** What is required of the previous release when it runs again: only what shows whether the new one was to blame. */
export const surfaceAfterRevert = ({ surface, failure }: { surface?: Surface; failure: { code: string } | null }) =>
  surface !== undefined && failure?.code === surfaceCodes.devices ? { ...noSurface, devices: surface.devices } : null;

const noSurface: Surface = { page: null, socket: false, setupNeeded: null, logIn: false, devices: [] };

/** The parts that a release must show, because the one before showed them. */
export function requiredParts(surface: Surface): SurfacePart[] {
  const isShown: Record<SurfacePart, boolean> = {
    setup: surface.setupNeeded !== null,
    page: surface.page !== null,
    socket: surface.socket,
    logIn: surface.logIn,
    devices: surface.devices.length > 0,
  };
  return surfaceParts.filter((part) => isShown[part]);
}

/** Why a part is not shown as it was before; null: it is. */
export function surfaceFault<Part extends SurfacePart>(
  part: Part,
  before: Surface,
  now: SurfaceFindings[Part],
): string | null {
  return faults[part](before, now);
}

const faults: { readonly [Part in SurfacePart]: (before: Surface, now: SurfaceFindings[Part]) => string | null } = {
  setup: ({ setupNeeded }, now) => {
    if (now === null) return 'the set-up does not answer as before';
    // Somebody may set the station up meanwhile; nobody undoes that.
    return now && setupNeeded === false ? 'the accounts are gone: the station asks to be set up' : null;
  },
  // A page that needed modules to show anything is blank without them, whatever other scripts it has.
  page: ({ page }, now) => (page === 'modules' && now.kind === 'scripts' ? 'the page is blank' : now.fault),
  socket: (_before, isAnswering) => (isAnswering ? null : 'the WebSocket of the page does not answer'),
  logIn: (_before, status) =>
    isRefusal(status) ? null : `the log-in ${status === 0 ? 'does not answer' : `answers ${status}`}`,
  devices: ({ devices }, heard) => {
    const now = new Set(heard);
    const back = devices.filter((id) => now.has(id)).length;
    return back >= devicesNeeded(devices.length) ? null : `only ${back} of ${devices.length} devices came back`;
  },
};

/** Refused because it is wrong, or because too many were tried; 404 and 405: there is no log-in. */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 404 && status !== 405;

/** Part of the devices that must come back. Of two or more, one may stay away: somebody may have switched it off. */
const backAgain = 0.8;

/** How many of `count` devices must be back. */
const devicesNeeded = (count: number): number =>
  count < 2 ? count : Math.min(count - 1, Math.ceil(count * backAgain));
