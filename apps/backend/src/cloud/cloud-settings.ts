import * as is from '@station/kit/config-values';
import { group, readVariables, type Check, type Environment, type Values } from '@station/kit/env-config';

export type CloudSettings = {
  /** Host, with a port unless it is the default port. */
  host: string;
  url: string;
  /** PEM file of the certificate authorities for a private cloud; null: Node's default list. */
  caFile: string | null;
  /** SHA-256 of public keys (SPKI), base64; empty: any certificate that verifies. */
  pins: string[];
  outboxMaxBytes: number;
};

const path = '/ws/station';
const hostForm = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$|^\[[0-9a-f:]+\](:\d{1,5})?$/i;
const loopbackForm = /^(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d{1,5})?$/;

/** The link is always encrypted, but for `ws://` and a loopback address, which is for development. */
const cloudHost: Check<{ host: string; url: string }> = (text) => {
  const isPlain = text.startsWith('ws://');
  const host = isPlain ? text.slice('ws://'.length) : text;
  if ((isPlain ? loopbackForm : hostForm).test(host) && URL.canParse(`https://${host}`)) {
    return is.ok({ host, url: `${isPlain ? 'ws' : 'wss'}://${host}${path}` });
  }
  return is.must('be a host name, with a port if need be; for development ws:// and a loopback address');
};

const tlsPins: Check<string[]> = (text) => {
  const pins = text.split(',').flatMap((pin) => (pin.trim() === '' ? [] : [pin.trim().replace(/^sha256\//, '')]));
  return pins.every((pin) => /^[A-Za-z0-9+/]{43}=$/.test(pin))
    ? is.ok(pins)
    : is.must('be SHA-256 hashes of public keys in base64, separated by commas');
};

export const cloudVariables = group('Cloud', {
  CLOUD_HOST: { check: cloudHost, otherwise: 'there is no cloud', help: 'The cloud that this station belongs to.' },
  CLOUD_CA_FILE: {
    check: is.text,
    example: '/etc/ssl/cloud-ca.pem',
    help: 'PEM file of the authority of your own cloud, readable by everyone. The backend reads it at its start.',
  },
  CLOUD_TLS_PINS: { check: tlsPins, help: 'Only certificates with one of these public keys are accepted.' },
  CLOUD_OUTBOX_MAX_MB: {
    check: is.wholeNumber(1, 65_536),
    default: '256',
    help: 'Megabytes on disk for messages that wait for the cloud. Beyond it, or beyond a quarter of the database’s part of STORAGE_MAX_MB, the oldest are dropped.',
  },
});

/** Null without CLOUD_HOST: there is no cloud. */
export function toCloudSettings(values: Values<typeof cloudVariables>): CloudSettings | null {
  if (values.CLOUD_HOST === null) return null;
  const outboxMaxBytes = values.CLOUD_OUTBOX_MAX_MB * 1024 * 1024;
  return { ...values.CLOUD_HOST, caFile: values.CLOUD_CA_FILE, pins: values.CLOUD_TLS_PINS ?? [], outboxMaxBytes };
}

/** The variables of the cloud alone. Pure. `settings` counts only when there is no problem. */
export function readCloudSettings(env: Environment): { settings: CloudSettings | null; problems: string[] } {
  const { values, problems } = readVariables(cloudVariables, env);
  return { settings: problems.length > 0 ? null : toCloudSettings(values), problems };
}
