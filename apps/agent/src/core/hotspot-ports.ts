import type { Server } from 'node:http';
import type { JoinFailure, JoinRequest, Network, Security, SsidHex } from './wifi-network.ts';

/** The setup page on the hotspot, while it is up. */
export type PortalServer = AsyncDisposable & {
  /** Null while it does not listen; `portTaken` says whether somebody else has the port. */
  address(): string | null;
  isPortTaken(): boolean;
};

/** How a join from the portal failed; `security` is the one that was chosen, null: the station was to find out. */
export type LastJoin = { ssid: SsidHex; isHidden: boolean; security: Security | null; failure: JoinFailure };

/** Listens for HTTP on an address of this machine; port 0 takes a free one. @throws the system's error (EADDRINUSE, …). */
export type ListenHttp = (where: { host: string; port: number }) => Promise<Server>;

/** What the portal's page shows. */
export type PortalView = {
  hotspotSsid: SsidHex;
  networks: readonly Network[];
  /** The join that is being tried; the hotspot goes away for it in a moment. */
  joining: SsidHex | null;
  /** How the last join from here ended; its name is filled in again. */
  lastJoin: LastJoin | null;
  /** A first look around is still under way: an empty list says nothing yet. */
  isLooking: boolean;
  /** Where the station will be found after a join that works, e.g. `http://station.local/`. */
  stationAddress: string;
};

/** What the portal asks of the watchdog. */
export type PortalActions = {
  view(): PortalView;
  /** Resolves when fresh results are in `view`, or after 15 s. */
  rescan(): Promise<void>;
  /** The answer's page goes out before the hotspot ends (some seconds). `busy`: another join is being tried. */
  join(request: JoinRequest): 'accepted' | 'busy';
  /** Somebody looks at the page now: the hotspot is in use. */
  seen(): void;
};
