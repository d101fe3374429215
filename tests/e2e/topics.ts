/**
 * End-to-end tests outside the folder of a topic that `npm run e2e -- TOPIC` runs too: paths below this folder, without `.test.ts`.
 * `tests/architecture/security.test.ts` compares those of `trust` with `docs/security.md`.
 */
export const topics: Readonly<Record<string, readonly string[]>> = {
  trust: [
    'wifi/neighbour',
    'network-manager/hotspot',
    'portal',
    'backend/mosquitto',
    'backend/broker-logins',
    'update/bad-input',
    'install/https',
    'stack',
    'acme',
    'web/passkeys',
  ],
};
