import { Type, type Static } from 'typebox';
import { normalizeChip } from './firmware-image.ts';
import { Nullable } from './nullable.ts';
import { parseVersion } from './version.ts';

/** Calls between agent and backend about firmware (contracts, sections 2 and 9), with the agent token. */

/** Chips that the name of a firmware may begin with. */
const firmwareChips = [
  'esp32',
  'esp32s2',
  'esp32s3',
  'esp32c2',
  'esp32c3',
  'esp32c5',
  'esp32c6',
  'esp32h2',
  'esp32p4',
  'esp8266',
] as const;

/** Name of a firmware: `<type>`, or `<chip>-<type>` (contracts, section 2). */
const firmwareNamePattern = `^((${firmwareChips.join('|')})-)?[a-z0-9][a-z0-9._-]{0,63}$`;
const firmwareNameWords = 'the type of a device, such as "relay", or "esp32-relay" for one chip';
const namePattern = new RegExp(firmwareNamePattern);
const chipAndType = new RegExp(`^(${firmwareChips.join('|')})-([a-z0-9][a-z0-9._-]{0,63})$`);

export const isFirmwareName = (text: string): boolean => namePattern.test(text);

/** The device type, and the chip if the name has one. */
export function parseFirmwareName(name: string): { type: string; chip: string | null } {
  const [, chip = null, type = name] = chipAndType.exec(name) ?? [];
  return { type, chip };
}

/** Names of the firmware that a device can take: the one of its chip comes first. A device of unknown chip takes none for a chip. */
export const firmwareNamesOf = ({ type, chip }: { type: string; chip: string | null }): string[] => [
  ...(chip === null ? [] : [`${normalizeChip(chip)}-${type}`]),
  type,
];

/** The older form `<chip>/<type>` of a name, as it is stored. Other text is returned as it is. */
export function canonicalFirmwareName(text: string): string {
  const name = text.replace('/', '-');
  return chipAndType.test(name) ? name : text;
}

/** File name of a firmware in the cache, and below FIRMWARE_FOLDER at the proxy: `<name>@<version>.bin`. */
export const firmwareFileName = (name: string, version: string): string => `${name}@${version}.bin`;

/** Name and version of a file in the cache; null when the name is not one of {@link firmwareFileName}. */
export function parseFirmwareFileName(file: string): { name: string; version: string } | null {
  const match = /^([^@]+)@(.+)\.bin$/.exec(file);
  const [, name = '', text = ''] = match ?? [];
  const version = parseVersion(text);
  return version !== null && version.text === text && isFirmwareName(name) ? { name, version: text } : null;
}

const Name = Type.String({ pattern: firmwareNamePattern, expected: firmwareNameWords });
const VersionText = Type.String({ minLength: 1, maxLength: 128, description: 'SemVer 2.0.0, without a leading `v`.' });
const Checksum = Type.String({
  pattern: '^sha256:[0-9a-f]{64}$',
  expected: '"sha256:" and 64 hexadecimal digits',
  description: 'SHA-256 of the whole file.',
});

/**
 * POST /api/ota/firmware-ready (agent token) → 204: this file is complete, checked and on disk in the cache; devices may fetch it.
 * Idempotent: the agent repeats the call until it gets a response. 409 conflict: the version was handed over before with another checksum.
 */
export const FirmwareReady = Type.Object(
  {
    name: Name,
    version: VersionText,
    file: Type.String({ maxLength: 255, description: 'Name in the cache, `<name>@<version>.bin`.' }),
    path: Type.Optional(
      Type.String({
        maxLength: 512,
        pattern: '^(/[A-Za-z0-9._~@+-]+)+$',
        expected: 'an absolute path of letters, digits and "._~@+-"',
        description: 'Path at which the reverse proxy serves the file, e.g. `/firmware/<name>@<version>.bin`.',
      }),
    ),
    checksum: Checksum,
    size: Type.Integer({ minimum: 1, description: 'Bytes.' }),
    chip: Type.Optional(
      Type.String({ maxLength: 32, description: 'Chip the image is built for, e.g. esp32s3; left out when unknown.' }),
    ),
    minVersion: Type.Optional(
      Type.String({ maxLength: 128, description: 'Devices with an older version cannot install it.' }),
    ),
    needsApproval: Type.Optional(
      Type.Boolean({
        description:
          'A person must approve its rollout: updates are not installed automatically, or somebody on the network could have changed it (not signed, and from `http://` of another machine).',
      }),
    ),
  },
  { additionalProperties: false },
);
export type FirmwareReady = Static<typeof FirmwareReady>;

/**
 * GET /api/ota/device-types (agent token): one entry for each type with a device, and for each name of a firmware. It shows the agent
 * which files the backend does not have and which old files are no longer needed.
 */
export const OtaDeviceTypes = Type.Array(
  Type.Object({
    type: Type.String({ description: 'A device type, or the name of a firmware for one chip: `<chip>-<type>`.' }),
    installed: Type.Array(Type.String(), {
      description:
        'Versions that devices of the type (and chip) reported, each once; "" for a device that reported none.',
    }),
    cached: Nullable(
      Type.String({ description: 'Highest version that was handed over and still has its file; null: none.' }),
    ),
    needsApproval: Type.Optional(
      Type.Boolean({
        description: 'Of `cached`, as it was handed over last. Absent from backends of earlier releases.',
      }),
    ),
  }),
);
export type OtaDeviceTypes = Static<typeof OtaDeviceTypes>;

/**
 * POST /api/ota/device-types (agent token) → 204: device types that the firmware manifest describes (contracts, section 8a). Idempotent.
 * The backend checks each one, and ignores and logs those that are not valid.
 */
export const AnnouncedDeviceTypes = Type.Object(
  { types: Type.Array(Type.Unknown(), { maxItems: 200 }) },
  { additionalProperties: false },
);
export type AnnouncedDeviceTypes = Static<typeof AnnouncedDeviceTypes>;

/**
 * GET /api/ota/check (device token): a device asks for firmware, with `version` or with `current_version`. A chip other than the
 * recorded one gets none.
 */
export const OtaCheckQuery = Type.Object(
  {
    device_id: Type.String({ minLength: 1, maxLength: 128, description: 'Its external id, or its id here.' }),
    version: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'The version it runs.' })),
    current_version: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Like `version`.' })),
    device_type: Type.Optional(Type.String({ maxLength: 128, description: 'As in its handshake.' })),
    chip: Type.Optional(Type.String({ maxLength: 128 })),
  },
  { additionalProperties: false },
);
export type OtaCheckQuery = Static<typeof OtaCheckQuery>;

/** `update` and `url` have the same values as `updateAvailable` and `downloadUrl`; devices of Station's first release read them. */
const FirstRelease = { update: Type.Optional(Type.Boolean()), url: Type.Optional(Type.String()) };

/** When an update is available, the device fetches, checks and installs the file. */
export const OtaCheck = Type.Union([
  Type.Object({ updateAvailable: Type.Literal(false), ...FirstRelease }),
  Type.Object({
    updateAvailable: Type.Literal(true),
    version: VersionText,
    downloadUrl: Type.String(),
    firmwareId: Type.String({ description: 'For POST /api/ota/report.' }),
    checksum: Checksum,
    size: Type.Integer({ minimum: 1 }),
    ...FirstRelease,
  }),
]);
export type OtaCheck = Static<typeof OtaCheck>;

/**
 * POST /api/ota/report (device token) → 204: the result of an update. `failed` is a failed attempt; after `success` the handshake with
 * the new version decides. A report about firmware that no rollout brings to the device changes nothing.
 */
export const OtaReport = Type.Object({
  deviceId: Type.String({ minLength: 1, maxLength: 128, description: 'Its external id, or its id here.' }),
  firmwareId: Type.String({ minLength: 1, maxLength: 256 }),
  status: Type.Enum(['success', 'failed']),
});
export type OtaReport = Static<typeof OtaReport>;

/** Identifies an image to a device: `<name>@<version>`. */
export const firmwareIdOf = (name: string, version: string): string => `${name}@${version}`;
