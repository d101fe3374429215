import {
  isFree,
  securities,
  type Security,
  type WifiPasswordProblem,
  wifiPasswordProblem,
  wifiPasswordProblemAmong,
  wifiPasswordProblems,
} from '@station/protocol/wifi-password';
import { isSsidHex, ssidFromText, type SsidHex, type JoinRequest, type Network } from '../core/wifi-network.ts';

/** The possible faults of a submitted form. Each has a text that names what to do. */
export const formProblems = [
  'form_unreadable',
  'no_network',
  'name_missing',
  'name_too_long',
  ...wifiPasswordProblems,
] as const;
export type FormProblem = (typeof formProblems)[number];

/** What the page shows as chosen. It never contains a password: no secret is sent back. */
export type Chosen =
  | { kind: 'network'; ssid: SsidHex; security: Security | null }
  | { kind: 'other'; name: string; security: OtherSecurity };

/** Security of a network with a typed name; `auto`: with a password, the station detects the kind. */
export const otherSecurities = ['auto', 'wpa2', 'wpa3', 'open', 'owe'] as const;
export type OtherSecurity = (typeof otherSecurities)[number];

type JoinForm = { kind: 'ok'; request: JoinRequest } | { kind: 'invalid'; problem: FormProblem; chosen: Chosen | null };

/** Value of the radio button for a network whose name is typed. */
export const otherValue = 'other';

const longestNameBytes = 32;

/** Value of a network's radio button: its name and its security on the page; null: out of range. */
export const radioValue = ({ ssid, security }: { ssid: SsidHex; security: Security | null }): string =>
  security === null ? ssid : `${ssid}.${security}`;

const withPassword: readonly Security[] = ['wpa2', 'wpa2-wpa3', 'wpa3'];

/**
 * Reads the form of the page: `ssid` (a name as hex, alone or followed by `.` and its security, or `other`), `name` and `security`
 * for `other`, and `password`.
 * @param networks networks in range now: the security of a name without one is looked up there.
 */
export function readJoinForm(form: ReadonlyMap<string, string>, networks: readonly Network[]): JoinForm {
  const chosen = readChosen(form, networks);
  if (chosen === null) return { kind: 'invalid', problem: 'no_network', chosen };
  const problem = problemOfName(chosen) ?? problemOfPassword(chosen, form.get('password') ?? '', networks);
  if (problem !== null) return { kind: 'invalid', problem, chosen };
  const security = securityOf(chosen);
  const password = isFree(security) ? null : (form.get('password') ?? '');
  const isHidden = chosen.kind === 'other';
  const ssid = chosen.kind === 'other' ? ssidFromText(chosen.name) : chosen.ssid;
  return { kind: 'ok', request: { ssid, security, password: password === '' ? null : password, isHidden } };
}

/** What is chosen in a form, whether or not it can be joined. */
export function readChosen(form: ReadonlyMap<string, string>, networks: readonly Network[]): Chosen | null {
  const value = form.get('ssid');
  if (value === undefined) return null;
  if (value === otherValue) {
    const security = otherSecurities.find((one) => one === form.get('security')) ?? 'auto';
    return { kind: 'other', name: form.get('name') ?? '', security };
  }
  const [ssid = '', wanted] = value.split('.');
  if (!isSsidHex(ssid)) return null;
  const ofThisName = networks.filter((network) => network.ssid === ssid);
  const shown = securities.find((security) => security === wanted);
  if (shown === undefined) return { kind: 'network', ssid, security: ofThisName[0]?.security ?? null };
  // A network shown with a password never becomes an open one of the same name.
  const isAlike = ({ security }: Network): boolean => withPassword.includes(shown) && withPassword.includes(security);
  const seen = ofThisName.find(({ security }) => security === shown) ?? ofThisName.find(isAlike);
  return { kind: 'network', ssid, security: seen?.security ?? shown };
}

const securityOf = (chosen: Chosen): Security | null =>
  chosen.kind === 'other' && chosen.security === 'auto' ? null : (chosen.security as Security | null);

function problemOfPassword(chosen: Chosen, password: string, networks: readonly Network[]): WifiPasswordProblem | null {
  const security = securityOf(chosen);
  // A network that is out of range now may be an open one.
  const options = { mayBeOpen: chosen.kind === 'network' };
  if (security !== null || chosen.kind === 'network') return wifiPasswordProblem(security, password, options);
  const seen = networks.filter(({ ssid }) => ssid === ssidFromText(chosen.name));
  return wifiPasswordProblemAmong(
    seen.map((network) => network.security),
    password,
    options,
  );
}

function problemOfName(chosen: Chosen): FormProblem | null {
  if (chosen.kind !== 'other') return null;
  if (chosen.name === '') return 'name_missing';
  return new TextEncoder().encode(chosen.name).length > longestNameBytes ? 'name_too_long' : null;
}

/**
 * Fields of an HTML form (application/x-www-form-urlencoded; URL standard, section 5.1), the last of each name.
 * Null when something in it is not UTF-8: a name or a password with a character replaced would be another one.
 */
export function readForm(body: Uint8Array): Map<string, string> | null {
  const fields = new Map<string, string>();
  try {
    for (const part of utf8.decode(body).split('&')) {
      const at = part.indexOf('=');
      if (at >= 0) fields.set(decode(part.slice(0, at)), decode(part.slice(at + 1)));
    }
  } catch {
    return null;
  }
  return fields;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws URIError for a broken escape or bytes that are no text. */
const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));
