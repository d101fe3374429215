import { Type, type Static } from 'typebox';
import { Id, Time } from './rest.ts';
import { nameForm } from './text-fields.ts';

/**
 * Bodies of /api/auth/passkeys: log-in with a passkey (Web Authentication, https://www.w3.org/TR/webauthn-3/). The objects of a browser
 * have their JSON form, section 5.1 there. Every route but the list and its changes answers 409 passkeys_unavailable to a request that did
 * not come over HTTPS under a name: a browser has no passkeys for addresses.
 */

const closed = { additionalProperties: false } as const;
const Base64Url = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$', expected: 'Base64url' });
/** At most 1,023 bytes (section 5.4.7). */
const CredentialId = Base64Url(1364);
const Transports = Type.Array(Type.String({ maxLength: 32 }), { maxItems: 8 });
const passkeyName = { minLength: 1, maxLength: 60, ...nameForm } as const;

export const Passkey = Type.Object({
  id: Id,
  name: Type.String(),
  host: Type.String({ description: 'The name of the station for which it was made. It works under this name only.' }),
  createdAt: Time,
  usedAt: Type.Union([Time, Type.Null()], { description: 'The last log-in; null: none.' }),
});
export type Passkey = Static<typeof Passkey>;

/** GET /api/auth/passkeys (user) → 200: those of this user, the oldest first, at most 20. */
export const PasskeyList = Type.Object({ passkeys: Type.Array(Passkey) });
export type PasskeyList = Static<typeof PasskeyList>;

/**
 * POST /api/auth/passkeys/options (user) → 200 PasskeyCreation. Errors: 401 invalid_credentials, 409 conflict: there are 20 already,
 * 429 too_many_requests.
 */
export const PasskeyCreationRequest = Type.Object(
  { currentPassword: Type.String({ minLength: 1, maxLength: 256 }) },
  closed,
);

/** For `navigator.credentials.create`: valid for five minutes, once, for this user. */
export const PasskeyCreation = Type.Object({
  challenge: Type.String(),
  rp: Type.Object({ id: Type.String(), name: Type.String() }),
  user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
  pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
  timeout: Type.Integer(),
  attestation: Type.Literal('none'),
  excludeCredentials: Type.Array(Type.Object({ type: Type.Literal('public-key'), id: Type.String() })),
  authenticatorSelection: Type.Object({
    residentKey: Type.Literal('required'),
    requireResidentKey: Type.Literal(true),
    userVerification: Type.Literal('required'),
  }),
});
export type PasskeyCreation = Static<typeof PasskeyCreation>;

/** What `navigator.credentials.create` gives. */
const CreatedCredential = Type.Object({
  id: CredentialId,
  rawId: CredentialId,
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: Base64Url(4096),
    attestationObject: Base64Url(16_384),
    transports: Type.Optional(Transports),
  }),
  clientExtensionResults: Type.Object({}),
});

/** POST /api/auth/passkeys (user) → 201 Passkey. Errors: 409 conflict: it is known or there are 20 already, 422 passkey_invalid. */
export const NewPasskey = Type.Object({ name: Type.String(passkeyName), credential: CreatedCredential }, closed);
export type NewPasskey = Static<typeof NewPasskey>;

/**
 * PATCH /api/auth/passkeys/:id (user) → 200 Passkey.
 * DELETE /api/auth/passkeys/:id (user) → 204. Errors: 404 not_found.
 */
export const PasskeyPatch = Type.Object({ name: Type.String(passkeyName) }, closed);

/** POST /api/auth/passkeys/login-options (public, no body) → 200: for `navigator.credentials.get`, valid for five minutes and one log-in. */
export const PasskeyRequest = Type.Object({
  challenge: Type.String(),
  rpId: Type.String(),
  timeout: Type.Integer(),
  userVerification: Type.Literal('required'),
  allowCredentials: Type.Array(Type.Never(), { description: 'Empty: the person chooses one on their device.' }),
});
export type PasskeyRequest = Static<typeof PasskeyRequest>;

/**
 * POST /api/auth/passkeys/login (public): what `navigator.credentials.get` gives → 200 Session.
 * Errors: 401 passkey_unknown, whatever the reason; 429 too_many_requests (with Retry-After).
 */
export const PasskeyLogin = Type.Object(
  {
    credential: Type.Object({
      id: CredentialId,
      rawId: CredentialId,
      type: Type.Literal('public-key'),
      response: Type.Object({
        clientDataJSON: Base64Url(4096),
        authenticatorData: Base64Url(4096),
        signature: Base64Url(8192),
        userHandle: Base64Url(86),
      }),
      clientExtensionResults: Type.Object({}),
    }),
  },
  closed,
);
export type PasskeyLogin = Static<typeof PasskeyLogin>;
