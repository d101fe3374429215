import type { JoinFailure } from '@station/protocol/agent-network';
import type { Security } from '@station/protocol/wifi-password';
import type { JoinRequest, Network, SsidHex } from './wifi-network.ts';

/** The setup page on the hotspot, while it is up. */
export type PortalServer = AsyncDisposable & {
  /** Null while it does not listen; `portTaken`: another program uses the port. */
  address(): string | null;
  isPortTaken(): boolean;
};

/** How a join from the portal failed; `security` is the chosen one; null: the station had to detect it. */
export type LastJoin = { ssid: SsidHex; isHidden: boolean; security: Security | null; failure: JoinFailure };

/** What the portal's page shows. */
export type PortalView = {
  hotspotSsid: SsidHex;
  /** The hotspot has no password: everybody near it reads what is sent to the page, and may send forms. */
  isOpen: boolean;
  /** The station was in a network once, or it is not known that it was not: it is somebody's. */
  wasEverJoined: boolean;
  networks: readonly Network[];
  /** The join that is being tried; the hotspot ends for it in a moment. */
  joining: SsidHex | null;
  /** How the last join from here ended; its name is filled in again. */
  lastJoin: LastJoin | null;
  /** The first scan is still running: an empty list means nothing yet. */
  isLooking: boolean;
  /** Where the station will be found after a join that works, e.g. `http://station.local/`. */
  stationAddress: string;
};

/** What the portal needs from the watchdog. */
export type PortalActions = {
  view(): PortalView;
  /** Resolves when fresh results are in `view`, or after 15 s. */
  rescan(): Promise<void>;
  /** The response reaches the phone before the hotspot ends (some seconds). `busy`: another join is being tried. */
  join(request: JoinRequest): 'accepted' | 'busy';
  /** A person views the page now: the hotspot is in use. */
  seen(): void;
};
