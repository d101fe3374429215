import { unauthorized, type RequestHook } from '../caller.ts';
import { hashToken } from '../../core/secrets.ts';

/** @returns id of the device whose token has this hash (SHA-256, hex); null when there is none. */
export type FindDeviceByTokenHash = (tokenHash: string) => Promise<string | null>;

/**
 * Sets `request.deviceId` from the header `X-Device-Token`, or `Device-Token` when that is not there (specification, "Backend hooks", 4);
 * else 401. The database compares hashes of 256-bit random tokens, so its timing reveals nothing about a token.
 */
export function createVerifyDeviceToken(findDevice: FindDeviceByTokenHash): RequestHook {
  return async function verifyDeviceToken(request) {
    const token = request.headers['x-device-token'] ?? request.headers['device-token'];
    const deviceId = typeof token === 'string' && token !== '' ? await findDevice(hashToken(token)) : null;
    if (deviceId === null) throw unauthorized('The device token is missing or not known.');
    request.deviceId = deviceId;
  };
}
