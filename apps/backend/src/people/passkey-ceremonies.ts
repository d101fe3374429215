import type { NewPasskey, PasskeyCreation, PasskeyLogin, PasskeyRequest } from '@station/protocol/passkeys';
import type { PasskeyRow } from './passkey-store.ts';
import type { RelyingParty } from './relying-party.ts';

/** The objects that Web Authentication exchanges with a browser (https://www.w3.org/TR/webauthn-3/), and their verification. */

/** Ed25519, ES256, RS256 (COSE algorithms): what phones, computers and security keys have. */
const algorithms = [-8, -7, -257];
/** How long the browser waits for the person. */
const timeout = 120_000;

type Person = { id: string; email: string; name: string };

const userHandleOf = (userId: string): string => Buffer.from(userId).toString('base64url');

export const creationOptions = (options: {
  party: RelyingParty;
  stationName: string;
  person: Person;
  challenge: string;
  /** Their other passkeys: a device makes no second one under the same name. */
  known: readonly PasskeyRow[];
}): PasskeyCreation => ({
  challenge: options.challenge,
  rp: { id: options.party.host, name: options.stationName },
  user: { id: userHandleOf(options.person.id), name: options.person.email, displayName: options.person.name },
  pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
  timeout,
  attestation: 'none',
  excludeCredentials: options.known
    .filter(({ rp_id: host }) => host === options.party.host)
    .map(({ credential_id: id }) => ({ type: 'public-key', id })),
  authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
});

export const requestOptions = ({ host }: RelyingParty, challenge: string): PasskeyRequest => ({
  challenge,
  rpId: host,
  timeout,
  userVerification: 'required',
  allowCredentials: [],
});

/** The challenge that a browser says it has signed; null: it cannot be read. */
export function challengeIn({ clientDataJSON }: { clientDataJSON: string }): string | null {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString());
    const challenge = typeof data === 'object' && data !== null && 'challenge' in data ? data.challenge : null;
    return typeof challenge === 'string' ? challenge : null;
  } catch {
    return null;
  }
}

export type VerifiedKey = { credentialId: string; publicKey: string; counter: number };

/** @returns null when it is not a key that was made for this challenge here, or the device did not verify the person. */
export async function verifyCreated(
  credential: NewPasskey['credential'],
  { host, origin }: RelyingParty,
  challenge: string,
): Promise<VerifiedKey | null> {
  try {
    if (!(await hasNoCertificates(credential.response.attestationObject))) return null;
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: { ...credential, response: { ...credential.response, transports: [] } },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
    if (!verified) return null;
    const { id, publicKey, counter } = registrationInfo.credential;
    if (id !== credential.id) return null;
    return { credentialId: id, publicKey: Buffer.from(publicKey).toString('base64url'), counter };
  } catch {
    // The library throws for everything that is not right; the reason does not matter.
    return null;
  }
}

/**
 * The station asks for no attestation: browsers then send none, or one that the key itself has signed. Certificates would be checked against
 * lists that they name, so that a forged one made the station fetch an address.
 */
async function hasNoCertificates(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const attestation = decodeAttestationObject(Buffer.from(attestationObject, 'base64url'));
  const format = attestation.get('fmt');
  return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined);
}

/** @returns the new counter; null when this key did not sign this challenge here, or its counter went back: then it may be a copy. */
export async function verifyUse(
  credential: PasskeyLogin['credential'],
  { row, party: { host, origin } }: { row: PasskeyRow; party: RelyingParty },
  challenge: string,
): Promise<number | null> {
  if (credential.response.userHandle !== userHandleOf(row.user_id)) return null;
  try {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: credential,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: true,
      credential: {
        id: row.credential_id,
        publicKey: new Uint8Array(Buffer.from(row.public_key, 'base64url')),
        counter: row.counter,
      },
    });
    return verified ? authenticationInfo.newCounter : null;
  } catch {
    return null;
  }
}
