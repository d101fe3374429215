import { Type, type Static, type TSchema } from 'typebox';
import { parseVersion } from './version.ts';

/** Calls between agent and backend about firmware (contracts, sections 2 and 9), with the agent token. */

const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Name of a firmware: it is the device type that the firmware is for (contracts, section 2). */
const firmwareNamePattern = '^[a-z0-9][a-z0-9._-]{0,63}$';
const namePattern = new RegExp(firmwareNamePattern);

export const isFirmwareName = (text: string): boolean => namePattern.test(text);

/** File name of a firmware in the cache, and below FIRMWARE_FOLDER at the proxy: `<name>@<version>.bin`. */
export const firmwareFileName = (name: string, version: string): string => `${name}@${version}.bin`;

/** Name and version of a file in the cache; null when the name is not one of {@link firmwareFileName}. */
export function parseFirmwareFileName(file: string): { name: string; version: string } | null {
  const match = /^([^@]+)@(.+)\.bin$/.exec(file);
  const [, name = '', text = ''] = match ?? [];
  const version = parseVersion(text);
  return version !== null && version.text === text && isFirmwareName(name) ? { name, version: text } : null;
}

const Name = Type.String({ pattern: firmwareNamePattern });
const VersionText = Type.String({ minLength: 1, maxLength: 128, description: 'SemVer 2.0.0, without a leading `v`.' });
const Checksum = Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: 'SHA-256 of the whole file.' });

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
  },
  { additionalProperties: false },
);
export type FirmwareReady = Static<typeof FirmwareReady>;

/**
 * GET /api/ota/device-types (agent token): one entry for each type with a device or a firmware. It shows the agent which files
 * the backend does not have and which old files are no longer needed.
 */
export const OtaDeviceTypes = Type.Array(
  Type.Object({
    type: Type.String(),
    installed: Type.Array(Type.String(), {
      description: 'Versions that devices of the type reported, each once; "" for a device that reported none.',
    }),
    cached: Nullable(
      Type.String({ description: 'Highest version that was handed over and still has its file; null: none.' }),
    ),
  }),
);
export type OtaDeviceTypes = Static<typeof OtaDeviceTypes>;

/** GET /api/ota/check?device_id=&version=&chip= (device token): a device asks for firmware. `device_id` is its external id. */
export const OtaCheckQuery = Type.Object(
  {
    device_id: Type.String({ minLength: 1, maxLength: 128 }),
    version: Type.String({ minLength: 1, maxLength: 128, description: 'The version it runs.' }),
    chip: Type.Optional(Type.String({ maxLength: 128 })),
  },
  { additionalProperties: false },
);
export type OtaCheckQuery = Static<typeof OtaCheckQuery>;

/** When an update is available, the device fetches, checks and installs the file. */
export const OtaCheck = Type.Union([
  Type.Object({ update: Type.Literal(false) }),
  Type.Object({
    update: Type.Literal(true),
    version: VersionText,
    url: Type.String(),
    checksum: Checksum,
    size: Type.Integer({ minimum: 1 }),
  }),
]);
export type OtaCheck = Static<typeof OtaCheck>;
