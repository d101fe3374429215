import { Type, type Static } from 'typebox';

/** What shows the content of a start page: its own text, scripts that are modules, or other scripts. */
const pageKinds = ['text', 'modules', 'scripts'] as const;
export type PageKind = (typeof pageKinds)[number];

/**
 * What a release shows to people and devices, beyond its health address. It is learned from the running release right before it is
 * replaced, and the new one has to show the same (ADR 78): a stack that is not Station's has only what it showed.
 */
export const Surface = Type.Object({
  /** The start page, with all its scripts and style sheets; null: there is none, or it is not whole. */
  page: Type.Union([Type.Enum([...pageKinds]), Type.Null()]),
  /** The WebSocket of the page answers. */
  socket: Type.Boolean(),
  /** Whether the first account has to be made; null: not told. */
  setupNeeded: Type.Union([Type.Boolean(), Type.Null()]),
  /** A log-in with a wrong password is refused, as it should be. */
  logIn: Type.Boolean(),
  /** Ids of the devices that were online. */
  devices: Type.Array(Type.String()),
});
export type Surface = Static<typeof Surface>;

/** A page as a browser needs it, or why a browser would not show it. */
export type PageReading = { kind: PageKind; fault: null } | { kind: null; fault: string };

/** What one look finds of each part. */
export type SurfaceFindings = {
  page: PageReading;
  /** Whether it answers. */
  socket: boolean;
  /** Whether the first account has to be made; null: no such answer. */
  setup: boolean | null;
  /** Status of the answer to an account that does not exist; 0: no answer. */
  logIn: number;
  /** Ids of devices that are online and have sent something since the backend started; empty also when nobody tells. */
  devices: string[];
};
export type SurfacePart = keyof SurfaceFindings;

/** Looks at the parts of the running release. Each takes up to half a minute, and rejects only when the signal aborts. */
export type SurfaceProbe = {
  look: { readonly [Part in SurfacePart]: (signal: AbortSignal) => Promise<SurfaceFindings[Part]> };
  /** The start page with the files that it names itself. */
  startPage(signal: AbortSignal): Promise<PageReading>;
};
