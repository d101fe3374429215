export type CloudSettings = {
  /** Host, with a port if it is not the usual one. */
  host: string;
  url: string;
  /** PEM file of whoever vouches for a cloud of one's own; null: those that Node knows. */
  caFile: string | null;
  /** SHA-256 of public keys (SPKI), base64; empty: any certificate that verifies. */
  pins: string[];
  outboxMaxBytes: number;
};

const path = '/ws/station';
const defaultOutboxMb = 256;
const maxOutboxMb = 65_536;
const pinForm = /^[A-Za-z0-9+/]{43}=$/;
const hostForm = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$|^\[[0-9a-f:]+\](:\d{1,5})?$/i;
const loopbackForm = /^(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d{1,5})?$/;

/**
 * CLOUD_HOST, CLOUD_CA_FILE, CLOUD_TLS_PINS, CLOUD_OUTBOX_MAX_MB. Pure; adds what is wrong to `problems`. The link is always encrypted, but for
 * `ws://` and a loopback address, which is for development.
 * @returns null without CLOUD_HOST: there is no cloud.
 */
export function readCloudSettings(read: (name: string) => string | null, problems: string[]): CloudSettings | null {
  const given = read('CLOUD_HOST');
  const pins = readPins(read('CLOUD_TLS_PINS'), problems);
  const megabytes = readMegabytes(read('CLOUD_OUTBOX_MAX_MB'), problems);
  if (given === null) return null;
  const isPlain = given.startsWith('ws://');
  const host = isPlain ? given.slice('ws://'.length) : given;
  if (!(isPlain ? loopbackForm : hostForm).test(host) || !URL.canParse(`https://${host}`)) {
    problems.push(
      'CLOUD_HOST must be a host name, with a port if need be; for development ws:// and a loopback address',
    );
    return null;
  }
  const url = `${isPlain ? 'ws' : 'wss'}://${host}${path}`;
  return { host, url, caFile: read('CLOUD_CA_FILE'), pins, outboxMaxBytes: megabytes * 1024 * 1024 };
}

function readPins(value: string | null, problems: string[]): string[] {
  const pins = (value ?? '')
    .split(',')
    .flatMap((pin) => (pin.trim() === '' ? [] : [pin.trim().replace(/^sha256\//, '')]));
  if (!pins.every((pin) => pinForm.test(pin))) {
    problems.push('CLOUD_TLS_PINS must be SHA-256 hashes of public keys in base64, separated by commas');
  }
  return pins;
}

function readMegabytes(value: string | null, problems: string[]): number {
  const megabytes = Number(value ?? defaultOutboxMb);
  if (Number.isInteger(megabytes) && megabytes >= 1 && megabytes <= maxOutboxMb) return megabytes;
  problems.push(`CLOUD_OUTBOX_MAX_MB must be a whole number from 1 to ${maxOutboxMb}`);
  return defaultOutboxMb;
}
