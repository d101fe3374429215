import {
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
} from '@simplewebauthn/browser';
import type { NewPasskey, PasskeyCreation, PasskeyLogin, PasskeyRequest } from '@station/protocol/passkeys';

/** What the device of the person did: it made or used a passkey, or not. */
type Made<Credential> = { kind: 'done'; credential: Credential } | { kind: 'cancelled' | 'known' | 'failed' };

/** Asks the person for a new passkey. */
export const createPasskey = (options: PasskeyCreation): Promise<Made<NewPasskey['credential']>> =>
  outcomeOf(() => startRegistration({ optionsJSON: options }));

/** Asks the person for one of their passkeys. `inField`: offered in the list of the e-mail field, without a dialog. */
export const askPasskey = (
  options: PasskeyRequest,
  { inField }: { inField: boolean },
): Promise<Made<PasskeyLogin['credential']>> =>
  outcomeOf(async () => {
    const { response, ...credential } = await startAuthentication({
      optionsJSON: options,
      useBrowserAutofill: inField,
    });
    if (response.userHandle === undefined) throw new Error('The passkey does not say whose it is.');
    return { ...credential, response: { ...response, userHandle: response.userHandle } };
  });

/** Whether the browser can offer passkeys in the list of a field. */
export const offersInField = browserSupportsWebAuthnAutofill;

/** Ends what waits for the person. */
export const cancelPasskey = (): void => WebAuthnAbortService.cancelCeremony();

async function outcomeOf<Credential>(ask: () => Promise<Credential>): Promise<Made<Credential>> {
  try {
    return { kind: 'done', credential: await ask() };
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    // A browser tells by one error that the person refused, that they were too slow, and that there is no passkey.
    if (name === 'NotAllowedError' || name === 'AbortError') return { kind: 'cancelled' };
    return { kind: name === 'InvalidStateError' ? 'known' : 'failed' };
  }
}
