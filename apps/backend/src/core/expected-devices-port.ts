import type { Handshake } from '@station/protocol/device-messages';

/** Devices that are being added right now; `provisioning/expected-devices.ts` implements it. */
export type ExpectedDevices = {
  /**
   * Whether this is the login that was made for a device that is being added. The login that the device had before ends.
   * @param tokenHash SHA-256 (hex).
   */
  mayLogIn(externalId: string, tokenHash: string): Promise<boolean>;
  /** Whether a login was made for a device that is being added. */
  hasLogin(externalId: string): Promise<boolean>;
  /**
   * A message of a device that the station does not have; `handshake` is null for the others. `added`: it is a device of the station now.
   * `expected`: it is being added, so it is neither unknown nor told that it was removed.
   */
  receive(externalId: string, handshake: Handshake | null): Promise<'added' | 'expected' | 'not_expected'>;
};
